"""Schedulers in simulation, as hosts `sim:cfs` and `sim:eevdf`: programs as state machines on CPUs that are none.

`engine` asks the program `becalm-sim` (crates/becalm-sim), `programs` turns command lines and files into what it runs,
`knobs` settings into its knobs, and `host` makes a Host of that.
"""

POLICIES = ("cfs", "eevdf")
"""Schedulers that there are; one more is a policy of crates/becalm-sim."""
