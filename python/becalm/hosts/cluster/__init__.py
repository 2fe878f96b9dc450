"""The host `cluster:NAME`: a worker of a Dask cluster, for the option --cluster (docs/how-to/cluster.md).

`workers.opened` starts or joins the cluster that a `spec` describes, and yields the names of its hosts. Each worker
stands for one machine, and is occupied by one task, `session.serve`, which starts the agent there and forwards its
lines; `transport` is the front's end of that. So a worker is a host that is reached through its agent, with the same
requests, plans, studies and errors as over ssh, and the front stores rows as they come. Dask is imported only when it
is used.
"""

from becalm.hosts.cluster.transport import open_worker
from becalm.hosts.cluster.workers import machine_of, opened

__all__ = ["machine_of", "open_worker", "opened"]
