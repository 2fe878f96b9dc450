"""Values of the kernel that a setting moves besides the one that it writes, for all settings that a guest has."""

from tests.system.guest.kernels import outputs, shell

from becalm.nouns.settings import Settings

APART = (
    "/sys/kernel/debug/[!s]*", "/sys/kernel/slab", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs",
    "/sys/firmware", "/sys/bus", "/sys/module", "/sys/devices/pci*", "/sys/devices/LNX*", "/sys/devices/pnp*",
    "/sys/devices/virtual/bdi", "/sys/devices/virtual/block", "/sys/devices/system/machinecheck",
    "/proc/sys/kernel/random",
)  # fmt: skip
"""Directories of files that count, that follow the number of CPUs, or that belong to groups that becalm makes."""

UNREAD = "watchdog|/uevent|ns_last_pid|smp_affinity|/hotplug/|max_newidle_lb_cost"
"""Files that have side effects when they are read (`watchdogs`) or that are looked at by tests of their own."""

PRUNED = " -o ".join(f"-path '{path}'" for path in APART)
FIND = f"find /proc/sys /sys '(' {PRUNED} ')' -prune -o -type f -perm -600 -print 2>/dev/null | grep -vE '{UNREAD}'"
LOOK = f"{FIND} | xargs grep -H '' /dev/null 2>/dev/null > /now; diff /before /now | grep '^>' | cut -d: -f1; true"
"""A line "> PATH" for each file that can be set and does not hold what it held before."""

APART_FROM_OTHERS = ("online_cpus", "isolation", "cpu_weight")
"""Settings that do not go together with others."""


def value_of(row):
    """Return a value of a knob that differs from the present one; None where there is none."""
    domain = row.domain
    values = [row.tuned_value, *domain.choices]
    if domain.range:
        values += [str(domain.range.natural(place)) for place in (0.3, -0.3)]
    return next((value for value in values if value is not None and value != row.value), None)


def swept(rows):
    """Return all settings of the running machine that a guest has, in sets that can be on together."""
    values = {row.name: value_of(row) for row in rows if row.scope == "live" and row.supported}
    values = {name: value for name, value in values.items() if value is not None}
    alone = [{name: values.pop(name)} for name in APART_FROM_OTHERS if name in values]
    return [Settings.of(row) for row in (values, *alone)]


def test_every_value_that_a_setting_moves_is_in_the_journal(guest):
    """Compare all values that can be set while settings are on with those before, and with what is restored."""
    guest.define([shell(f"{LOOK} > /moved; echo; cat /moved")], [Settings()])
    before = "; ".join((f"{FIND} > /files", "xargs grep -H '' /dev/null < /files 2>/dev/null > /before", "true"))
    outputs(guest, (shell(f"{before}; {LOOK}"), 0))
    looked = set()
    for settings in swept(guest.knobs()):
        with guest.hold(settings, dangerous=True):
            known = {held.place.partition(" ")[0] for held in guest.status().places}
        (seen,) = outputs(guest, (shell(LOOK), 0), settings=(settings,), dangerous=True)
        moved = {line.removeprefix("> ") for line in seen.splitlines() if line.startswith("> /")}
        assert moved <= known, f"{sorted(moved - known)} by one of {settings.values}"
        looked |= moved
    assert {"/proc/sys/vm/swappiness", "/proc/sys/vm/min_free_kbytes"} <= looked
    (left,) = outputs(guest, (shell(LOOK), 0))
    assert left.strip() == ""
