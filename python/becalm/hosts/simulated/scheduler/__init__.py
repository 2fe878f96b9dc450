"""Simulated schedulers, as hosts `sim:cfs` and `sim:eevdf`, with programs as state machines on simulated CPUs.

`engine` runs the program `becalm-sim` (crates/becalm-sim), `programs` turns command lines and files into its workloads,
`knobs` turns settings into its parameters, and `host` combines them to a Host.
"""

POLICIES = ("cfs", "eevdf")
"""The simulated schedulers, policies of crates/becalm-sim."""
