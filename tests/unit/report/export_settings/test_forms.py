"""Files for production: what they set, what they undo, and that the programs they are for take them."""

import configparser
import re

import pytest

from becalm.errors import UsageError
from becalm.report.export_settings.forms import FORMS, files, form_named, not_held
from becalm.results.export_settings import Origin, SettingPlace, Where

ORIGIN = Origin(
    "becalm-12",
    "settings of study 12 for hackbench",
    ("With the recommended settings hackbench takes 16.5 % less time (15.9 to 17.1 %).",),
    host="vm",
    kernel="6.18.44",
    found_on="vm, kernel 6.18.44",
    date="2026-11-22",
)
GOVERNOR = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
PLACES = (
    SettingPlace(
        "swappiness", Where.SYSCTL, "/proc/sys/vm/swappiness", "10", "60", "how soon memory goes to swap", "none"
    ),
    SettingPlace("numa_balancing", Where.SYSCTL, "/proc/sys/kernel/numa_balancing", "0", "1", "moves pages"),
    SettingPlace(
        "transparent_hugepages", Where.FILE, "/sys/kernel/mm/transparent_hugepage/enabled", "never", "madvise", "x"
    ),
    *(
        SettingPlace("governor", Where.FILE, GOVERNOR.format(n), "performance", "powersave", "frequency")
        for n in range(12)
    ),
    SettingPlace(
        "sched_base_slice_ns", Where.DEBUG, "/sys/kernel/debug/sched/base_slice_ns", "3000000", "1400000", "x"
    ),
    SettingPlace("sched_feature_a", Where.FEATURE, "/sys/kernel/debug/sched/features", "NO_A", "A", "x"),
    SettingPlace("sched_feature_b", Where.FEATURE, "/sys/kernel/debug/sched/features", "B", "NO_B", "x"),
    SettingPlace("cpu_dma_latency", Where.LATENCY, "/dev/cpu_dma_latency", "20", None, "idle states"),
    SettingPlace("nice", Where.PROGRAM, "Nice", "-5", None, "the share of a CPU"),
    SettingPlace("policy", Where.PROGRAM, "CPUSchedulingPolicy", "fifo", None, "who may interrupt"),
    SettingPlace("policy", Where.PROGRAM, "CPUSchedulingPriority", "10", None, "who may interrupt"),
    SettingPlace("isolcpus", Where.BOOT, "isolcpus=3", "isolcpus=3", None, "nothing is scheduled there"),
    SettingPlace("nohz_full", Where.BOOT, "nohz_full=3", "nohz_full=3", None, "no timer interrupt"),
)


def content(form):
    return "\n".join(file.content for file in files(ORIGIN, PLACES, form))


def code(text):
    """Return a text without comments."""
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def test_every_setting_is_written_once_where_it_belongs():
    written = files(ORIGIN, PLACES, None)
    knobs = [knob for line in written for knob in line.knobs]
    assert sorted(knobs) == sorted({place.knob for place in PLACES})
    assert [line.path for line in written] == [
        "/etc/sysctl.d/90-becalm-12.conf",
        "/etc/tmpfiles.d/becalm-12.conf",
        "/etc/systemd/system/becalm-12.service",
        "/etc/systemd/system/becalm-12-latency.service",
        "/etc/systemd/system/PROGRAM.service.d/90-becalm-12.conf",
        "/etc/default/grub.d/90-becalm-12.cfg",
    ]
    assert len({line.name for line in written}) == len(written)


@pytest.mark.parametrize("form", [form.name for form in FORMS])
def test_every_file_says_why_from_where_how_and_how_not(form):
    for file in files(ORIGIN, PLACES, form):
        head = file.content.split("\n\n")[0]
        assert "settings of study 12 for hackbench" in head
        assert "16.5 % less time (15.9 to 17.1 %)" in " ".join(head.replace("#", "").split())
        assert "Measured on vm, kernel 6.18.44, 2026-11-22:" in head
        assert all(f"#   {line}\n" in head + "\n" for line in (*file.install, *file.undo))
        for knob in file.knobs:
            assert f"# {knob}: " in file.content


@pytest.mark.parametrize("form", [form.name for form in FORMS])
def test_settings_that_a_form_cannot_hold_are_reported(form):
    held = {knob for file in files(ORIGIN, PLACES, form) for knob in file.knobs}
    left = {excluded.knob for excluded in not_held(PLACES, form)}
    assert held | left == {place.knob for place in PLACES}
    assert not held & left
    assert files(ORIGIN, (), form) == ()


def test_no_place_is_without_a_form():
    assert {where for form in FORMS for where in form.best_for} == set(Where)
    with pytest.raises(UsageError, match="Known: sysctl, tmpfiles, systemd, tuned, boot, script"):
        form_named("ini")


def test_cpus_that_are_written_alike_take_one_line():
    text = code(content("tmpfiles"))
    assert text.count("scaling_governor") == 1
    assert "w /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor - - - - performance" in text
    (file,) = files(ORIGIN, PLACES, "tmpfiles")
    assert file.undo[1] == (
        'for f in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; do echo powersave > "$f"; done'
    )


def test_cpus_that_were_not_alike_before_are_restored_one_by_one():
    places = [
        SettingPlace("governor", Where.FILE, GOVERNOR.format(n), "performance", ("powersave", "schedutil")[n], "f")
        for n in range(2)
    ]
    (file,) = files(ORIGIN, places, "tmpfiles")
    assert file.undo[1:] == (
        "echo schedutil > /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        "echo powersave > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    )
    assert file.content.count("w /sys/devices/system/cpu/cpu") == 2


def test_a_file_of_sysctl_is_undone_by_its_values_before():
    (file,) = files(ORIGIN, PLACES, "sysctl")
    assert file.undo == (f"rm {file.path}", "sysctl --write kernel.numa_balancing=1 vm.swappiness=60")


def test_a_name_with_dots_is_written_with_slashes():
    place = SettingPlace("x", Where.SYSCTL, "/proc/sys/net/ipv4/conf/eth0.100/rp_filter", "0", "1", "x")
    (file,) = files(ORIGIN, [place], "sysctl")
    assert "net/ipv4/conf/eth0.100/rp_filter = 0" in file.content


def test_a_service_undoes_what_it_did_in_the_opposite_order():
    service = files(ORIGIN, PLACES, "systemd")[0].content
    started = re.findall(r"ExecStart=(.*)", service)
    stopped = re.findall(r"ExecStop=(.*)", service)
    assert len(started) == len(stopped) == 7
    assert "echo NO_A > /sys/kernel/debug/sched/features" in started[5]
    assert "echo A > /sys/kernel/debug/sched/features" in stopped[1]
    assert "echo 10 > /proc/sys/vm/swappiness" in started[0]
    assert "echo 60 > /proc/sys/vm/swappiness" in stopped[-1]
    assert "RequiresMountsFor=/sys/kernel/debug" in service
    assert '> \\"$$f\\"' in service
    latency = files(ORIGIN, PLACES, "systemd")[1].content
    assert "echo 00000014 >&3" in latency


def test_tuned_reads_its_profile():
    read = configparser.ConfigParser(interpolation=None, strict=True, delimiters=("=",))
    read.optionxform = str
    read.read_string(content("tuned"))
    assert dict(read["sysctl"]) == {"vm.swappiness": "10", "kernel.numa_balancing": "0"}
    assert read["sysfs"]["/sys/kernel/debug/sched/base_slice_ns"] == "3000000"
    assert read["cpu"]["force_latency"] == "20"
    assert read["bootloader"]["cmdline"] == "isolcpus=3 nohz_full=3"
