"""A real Slurm with one node, on this machine: munged, slurmctld and slurmd of Debian, configured in a directory of
their own, started as root, and ended with everything they started. Nothing of the system's own Slurm is touched."""

import os
import socket
import subprocess

import pytest
from tests.needs import missing, need
from tests.support.ports import free_ports, listens
from tests.waiting import HANG_LIMIT_S, wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "sinfo", "squeue")


class Slurm:
    """The node and its partition `batch`; `environment` makes sbatch and its like find it."""

    def __init__(self, path):
        need(*PROGRAMS)
        if os.geteuid() != 0:
            pytest.skip("Slurm's daemons are started as root.")
        self.path, self.processes = path, []
        self.environment = {"SLURM_CONF": str(path / "slurm.conf")}
        (path / "state").mkdir()
        (path / "spool").mkdir()
        key = path / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.configure()
        self.start(
            "munged", "--foreground", "--force", f"--key-file={key}", *self.munge("socket", "pid", "seed", "log")
        )
        self.wait(lambda: listens(path / "munge.socket"), "munged")
        self.start("slurmctld", "-D", "-f", str(path / "slurm.conf"))
        self.start("slurmd", "-D", "-f", str(path / "slurm.conf"))
        self.wait(self.idle, "slurmd")

    def munge(self, *kinds):
        return [f"--{kind}{'' if kind == 'socket' else '-file'}={self.path}/munge.{kind}" for kind in kinds]

    def configure(self):
        controller, node = free_ports(2)
        host = socket.gethostname().partition(".")[0]
        lines = [
            "ClusterName=becalm",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={controller}",
            f"SlurmdPort={node}",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={self.path}/munge.socket",
            "CredType=cred/munge",
            # No cgroups and no systemd: processes are found by their parents.
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "SchedulerType=sched/builtin",
            "MpiDefault=none",
            "SwitchType=switch/none",
            "ReturnToService=2",
            "MailProg=/bin/true",
            "KillWait=2",
            f"StateSaveLocation={self.path}/state",
            f"SlurmdSpoolDir={self.path}/spool",
            f"SlurmctldPidFile={self.path}/slurmctld.pid",
            f"SlurmdPidFile={self.path}/slurmd.pid",
            f"SlurmctldLogFile={self.path}/slurmctld.log",
            f"SlurmdLogFile={self.path}/slurmd.log",
            f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN",
            f"PartitionName=batch Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE",
        ]
        (self.path / "slurm.conf").write_text("\n".join([*lines, ""]))
        (self.path / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")

    def start(self, program, *options):
        with (self.path / f"{program}.out").open("wb") as out:
            self.processes.append(
                subprocess.Popen(
                    [need(program), *options],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    env={**os.environ, **self.environment},
                )
            )

    def run(self, *command):
        """Run one of its commands to its end, and return that."""
        env = {**os.environ, **self.environment}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    def ask(self, *command):
        return self.run(*command).stdout

    def queue(self, *options):
        """Return what squeue prints, which is asked until it is answered; nothing when a daemon has ended."""

        def answer():
            done = self.run("squeue", "-h", *options)
            return done if done.returncode == 0 or self.failed() else None

        return wait_for(answer, "squeue is answered").stdout

    def idle(self):
        return "idle" in self.ask("sinfo", "-h", "-o", "%t")

    def wait(self, met, program):
        """Wait until it is there; a Slurm that cannot start here (a container without some rights) skips the test."""
        wait_for(lambda: met() or self.failed(), f"{program} starts")
        if self.failed():
            output = "".join(
                (self.path / name).read_text(errors="replace")[-800:]
                for name in (f"{program}.out", f"{program}.log")
                if (self.path / name).exists()
            )
            self.close()
            missing(f"{program} does not start here: {output.strip()[-1500:] or 'it says nothing'}")

    def failed(self):
        """Return whether one of the daemons has ended."""
        return any(process.poll() is not None for process in self.processes)

    def close(self):
        if len(self.processes) == 3:
            self.ask("scancel", "--user=root")
            wait_for(lambda: self.failed() or not self.queue(), "the queue is empty")
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            process.wait(HANG_LIMIT_S)
