"""Guests with the kernels that are kept: whether they can be booted, and programs in them."""

from tests.measuring import ran_and_said
from tests.needs import missing, need

from becalm.errors import UsageError
from becalm.hosts.guest import kernel, qemu
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload

VERSIONS = ("6.1", "6.12")


def needed(version):
    """Skip, and say why, where a guest with this kernel cannot be booted."""
    need(qemu.PROGRAM)
    try:
        return kernel.find(version)
    except UsageError:
        missing(f"the kernel {version} is not kept: becalm guest prepare {version}")


def shell(text, **options):
    return Workload.of(text, shell=True, output=Output.KEEP, **options)


def said(host, *steps, settings=({},)):
    """What workloads said; `steps`: pairs of a workload and the index of its settings."""
    host.define([work for work, _ in steps], [Settings.of(each) for each in settings])
    texts = {}
    rows, texts = ran_and_said(host, *((index, which) for index, (_, which) in enumerate(steps)))
    assert [run.outcome for run in rows] == ["ok"] * len(steps), (rows, texts)
    return ["".join(reversed(texts.get(index, ()))).strip() for index in range(len(steps))]
