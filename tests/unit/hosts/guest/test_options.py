"""Options in a guest's name."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.errors import UsageError
from becalm.hosts.guest.options import GuestOptions, parameters, parse


def test_a_version_alone():
    assert parse("6.1") == GuestOptions("6.1", 1, 1024)


def test_everything(tmp_path):
    text = "/boot/vmlinuz?cpus=4&mem=2G&append=quiet+isolcpus=1&append=nosmt&modules=zram,loop"
    text += f"&files={tmp_path}&accel=tcg&net=user&limit=90s&swap=1G&disk=200M"
    appended, modules = ("quiet", "isolcpus=1", "nosmt"), ("zram", "loop")
    assert parse(text) == GuestOptions(
        "/boot/vmlinuz",
        4,
        2048,
        appended,
        modules,
        (str(tmp_path),),
        "tcg",
        net="user",
        swap=1024,
        disk=200,
        limit_s=90.0,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("isolcpus=1", ("isolcpus=1",)),
        ("isolcpus=1,nohz_full=1", ("isolcpus=1", "nohz_full=1")),
        (
            "isolcpus=domain,managed_irq,1-2,nohz_full=1,3 quiet",
            ("isolcpus=domain,managed_irq,1-2", "nohz_full=1,3", "quiet"),
        ),
        ("console=ttyS0,115200", ("console=ttyS0,115200",)),
        (
            "rcutree.kthread_prio=1,workqueue.power_efficient=0",
            ("rcutree.kthread_prio=1", "workqueue.power_efficient=0"),
        ),
    ],
)
def test_a_comma_separates_parameters_only_where_a_name_follows(text, words):
    assert parameters(text) == words


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Which kernel"),
        ("?cpus=2", "Which kernel"),
        ("6.1?cpu=2", "Did you mean 'cpus'"),
        ("6.1?cpus", "needs a value"),
        ("6.1?cpus=0", "1 to 255"),
        ("6.1?cpus=two", "1 to 255"),
        ("6.1?mem=64M", "at least 128M"),
        ("6.1?mem=lots", "512M or 2G"),
        ("6.1?swap=8M", "swap is written 512M or 2G and is at least 16M"),
        ("6.1?swap=lots", "swap is written 512M"),
        ("6.1?swap=600M", "at most half of that can be swap, 512M of 1024M, not 600M. More memory: mem=1200M"),
        ("6.1?disk=1K", "disk is written 512M or 2G and is at least 128M"),
        ("6.1?accel=xen", "kvm or tcg"),
        ("6.1?net=bridge", "net is none, or user"),
        ("6.1?files=/no/such/file", "no such file"),
        ("6.1?limit=soon", "soon"),
    ],
)
def test_invalid_guests_are_refused_with_the_reason(text, says):
    with pytest.raises(UsageError, match=says):
        parse(text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_sentence(text):
    with contextlib.suppress(UsageError):
        assert parse(text).kernel
