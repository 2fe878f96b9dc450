"""The host `cluster:NAME`: a worker of a Dask cluster, for the option --cluster (docs/how-to/cluster.md).

`workers.opened` starts or joins a cluster, described by a `spec`, and gives the names of its workers' hosts. Each
worker stands for one machine and is held by one task, `session.serve`, which starts the agent there and carries its
lines;
`link` is the front's end of that. So a worker is one more host that is reached through its agent: the same requests,
plans, studies and faults as over ssh, and rows are stored by the front as they come. Nothing here imports Dask before
it is asked for.
"""

from becalm.hosts.cluster.transport import open_worker
from becalm.hosts.cluster.workers import machine_of, opened

__all__ = ["machine_of", "open_worker", "opened"]
