//! The rows of the scheduler as a whole: its treatment of all tasks. Its treatment of one program is among
//! the rows of the measured program (`nice`, `policy`, `slice_ns`).
//!
//! Times and numbers are in debugfs since 5.13 and were in /proc/sys/kernel before; those of CFS end with
//! 6.5, those of EEVDF begin with 6.6. The hosts that a row names are guests that come with becalm's images,
//! and `tests/system/guest` checks that they have it.

use super::super::domain::Scale::{Linear, Log};
use super::super::domain::{range, special, words, Special, DEFAULT};
use super::super::row::Group::Dangerous;
use super::super::row::{Form, Knob, Version};
use super::blank::{ON_IS_1, PLAIN, ROW};
use super::feature::Feature;
use super::file::File;

const CFS: &str = "kernels since 6.6 have sched_base_slice_ns instead";
const UP_TO_6_5: &str = "kernels up to 6.5 have it";
const SINCE_6_6: &str = "kernels since 6.6 have it";
const UP_TO: (Option<Version>, Option<Version>) = (None, Some((6, 6)));
const SINCE: (Option<Version>, Option<Version>) = (Some((6, 6)), None);
const NO_SUCH: &str = "this kernel's scheduler has no such setting";
const NO_NUMA: &str = "this kernel was built without NUMA_BALANCING";
const WITH_CFS: &str = "guest:6.1";
const WITH_EEVDF: &str = "guest:6.12";
const SCALING: Form = Form(&[("none", "0"), ("log", "1"), ("linear", "2")]);
const AT_ONCE: &[Special] = &[special("0", "at once")];
const NEVER_HOT: &[Special] =
    &[special("0", "no waiting task counts as cache-hot"), special("4294967295", "every one does")];

/// Define a file of debugfs since 5.13, of /proc/sys/kernel before.
macro_rules! file {
    ($name:literal, $before:literal, $form:expr) => {
        &File(&[
            (concat!("/sys/kernel/debug/sched/", $name), $form),
            (concat!("/proc/sys/kernel/", $before), $form),
        ])
    };
}

/// Define a feature: its name here, the kernel's, a guest that has it, the reason on other kernels, the
/// kernels that have it, its effect.
macro_rules! feature {
    ($name:literal, $kernel:literal, $elsewhere:expr, $absent:expr, $kernels:expr, $does:literal, $costs:literal) => {
        Knob {
            name: concat!("sched_feature_", $name),
            act: &Feature($kernel),
            rationale: $does,
            costs: $costs,
            elsewhere: $elsewhere,
            absent: $absent,
            kernels: $kernels,
            source: concat!("kernel/sched/features.h, ", $kernel),
            ..ROW
        }
    };
}

#[rustfmt::skip]
pub const SCHEDULER: &[Knob] = &[
    // --- times and numbers -------------------------------------------------------------------------------------------
    // The bounds of the first three are the kernel's own (kernel/sysctl.c of 5.12: min_sched_granularity_ns
    // to max_sched_granularity_ns, and from 0 for waking up, on the scale of published experiments). Others
    // that may be 0 have it next to a range from 1 us on: a time shorter than a switch of tasks is as good as
    // 0, and on a logarithmic scale there is no 0.
    Knob { name: "sched_latency_ns", domain: range(100_000, 1_000_000_000, "ns", Log), absent: CFS, kernels: UP_TO, elsewhere: WITH_CFS,
        act: file!("latency_ns", "sched_latency_ns", PLAIN),
        rationale: "the time in which every runnable task gets a turn: long turns spare switches and caches",
        costs: "long: interactive programs wait", source: "Documentation/scheduler/sched-design-CFS.rst", ..ROW },
    Knob { name: "sched_min_granularity_ns", domain: range(100_000, 1_000_000_000, "ns", Log), absent: CFS, kernels: UP_TO, elsewhere: WITH_CFS,
        act: file!("min_granularity_ns", "sched_min_granularity_ns", PLAIN),
        rationale: "how long a task runs at least before another gets its turn, however many there are",
        costs: "long: interactive programs wait", source: "Documentation/scheduler/sched-design-CFS.rst", ..ROW },
    Knob { name: "sched_wakeup_granularity_ns", domain: range(0, 1_000_000_000, "ns", Linear), absent: CFS, kernels: UP_TO, elsewhere: WITH_CFS,
        act: file!("wakeup_granularity_ns", "sched_wakeup_granularity_ns", PLAIN),
        rationale: "how far a task that wakes up must be behind the running one to interrupt it",
        costs: "large: woken programs wait for the end of the other's turn", source: "Documentation/scheduler/sched-design-CFS.rst", ..ROW },
    Knob { name: "sched_idle_min_granularity_ns", domain: range(1_000, 1_000_000_000, "ns", Log).or(AT_ONCE), elsewhere: WITH_CFS,
        act: &File(&[("/sys/kernel/debug/sched/idle_min_granularity_ns", PLAIN)]),
        rationale: "how long a task of a group with cpu.idle runs at least before another gets its turn", costs: "long: the other programs wait for them",
        absent: "kernels from 5.15 to 6.5 have it", kernels: (Some((5, 15)), Some((6, 6))), source: "kernel/sched/fair.c, sched_slice", ..ROW },
    Knob { name: "sched_child_runs_first", act: &File(&[("/proc/sys/kernel/sched_child_runs_first", ON_IS_1)]), elsewhere: WITH_CFS,
        rationale: "a process that forks lets the new one run first",
        costs: "on: the parent waits", absent: UP_TO_6_5, kernels: UP_TO, source: "kernel/sched/fair.c, task_fork_fair", ..ROW },
    Knob { name: "sched_base_slice_ns", domain: range(100_000, 1_000_000_000, "ns", Log), elsewhere: WITH_EEVDF,
        act: &File(&[("/sys/kernel/debug/sched/base_slice_ns", PLAIN)]),
        rationale: "how long a task runs before others of its priority get their turn, where it requests no slice itself",
        costs: "long: interactive programs wait",
        absent: "kernels before 6.6 have sched_min_granularity_ns instead", kernels: SINCE,
        source: "Documentation/scheduler/sched-eevdf.rst", ..ROW },
    Knob { name: "sched_migration_cost_ns", domain: range(1_000, 1_000_000_000, "ns", Log).or(NEVER_HOT), absent: NO_SUCH, elsewhere: WITH_CFS,
        act: file!("migration_cost_ns", "sched_migration_cost_ns", PLAIN),
        rationale: "how long after its last run a task counts as cache-hot and is not moved to another CPU",
        costs: "large: CPUs stay idle while others have a queue", source: "kernel/sched/fair.c, task_hot", ..ROW },
    Knob { name: "sched_nr_migrate", domain: range(1, 4096, "tasks", Log), absent: NO_SUCH, elsewhere: WITH_CFS,
        act: file!("nr_migrate", "sched_nr_migrate", PLAIN),
        rationale: "how many tasks one round of load balancing looks at, with interrupts off",
        costs: "large: longer times without interrupts", source: "kernel/sched/fair.c, detach_tasks", ..ROW },
    // This comes before CPUs come and go and before the times, and after both in a restore: from a write here
    // on, the kernel computes the times from the present ones and the present CPUs when CPUs come and go
    // (kernel/sched/fair.c, sched_update_scaling), and these are not visible anywhere.
    Knob { name: "sched_tunable_scaling", domain: words(&["none", "log", "linear"]), absent: NO_SUCH, elsewhere: WITH_CFS, order: 8,
        act: file!("tunable_scaling", "sched_tunable_scaling", SCALING),
        rationale: "how the scheduler's times grow with the number of CPUs when that changes",
        costs: "none: short turns on large machines", source: "kernel/sched/fair.c, get_update_sysctl_factor", ..ROW },
    Knob { name: "sched_preempt", domain: words(&["none", "voluntary", "full", "lazy"]), elsewhere: WITH_CFS,
        act: &File(&[("/sys/kernel/debug/sched/preempt", PLAIN)]),
        rationale: "where in the kernel a task may be interrupted by another one",
        costs: "none: long system calls delay others; full: more switches",
        absent: "this kernel was built without PREEMPT_DYNAMIC",
        source: "kernel/sched/core.c, sched_dynamic_update; preempt= in Documentation/admin-guide/kernel-parameters.txt", ..ROW },
    Knob { name: "autogroup", act: &File(&[("/proc/sys/kernel/sched_autogroup_enabled", ON_IS_1)]),
        rationale: "with it, nice acts only within one terminal session",
        costs: "off: a session with many processes gets a larger share",
        source: "sched(7), The autogroup feature", ..ROW },
    // No quota has a longer period than a second (kernel/sched/core.c, max_cfs_quota_period).
    Knob { name: "sched_cfs_bandwidth_slice_us", domain: range(1, 1_000_000, "us", Log), absent: "this kernel was built without CFS_BANDWIDTH",
        act: &File(&[("/proc/sys/kernel/sched_cfs_bandwidth_slice_us", PLAIN)]),
        rationale: "how much time a CPU takes at once from a group's quota, as containers have one",
        costs: "large: a group of many threads loses what idle CPUs hold; small: more locking",
        source: "Documentation/scheduler/sched-bwc.rst", ..ROW },

    // --- realtime tasks ----------------------------------------------------------------------------------------------
    // The kernel also accepts less than 10 ms, with which its own threads of realtime priority would starve.
    Knob { name: "sched_rt_runtime_us", group: Dangerous, domain: range(10_000, 1_000_000, "us", Linear).or(&[special("-1", "no limit")]),
        act: &File(&[("/proc/sys/kernel/sched_rt_runtime_us", PLAIN)]),
        rationale: "how much of each sched_rt_period_us (a second) programs of the policies fifo and rr may run; since 6.12 the kernel's fair server ensures that, except with RT_GROUP_SCHED",
        costs: "-1: nothing else runs on the CPU of a busy realtime program, not even the terminal",
        source: "Documentation/scheduler/sched-rt-group.rst", ..ROW },
    Knob { name: "sched_rr_timeslice_ms", domain: range(1, 10_000, "ms", Log).or(&[special("0", DEFAULT)]),
        act: &File(&[("/proc/sys/kernel/sched_rr_timeslice_ms", PLAIN)]),
        rationale: "how long a program of the policy rr runs before the next of its priority; counted in ticks",
        costs: "long: the others of its priority wait", source: "sched(7), SCHED_RR", ..ROW },
    // The fair server's time (6.12) is not here: when CPUs have come and gone, the kernel forgets what it had accounted for
    // and refuses every smaller time with EBUSY (kernel/sched/deadline.c, dl_server_apply_params), so that it could not
    // be restored.

    // --- memory of several nodes -------------------------------------------------------------------------------------
    // The kernel bounds only the size, from below. They have an effect while numa_balancing is on, on
    // machines of several nodes.
    Knob { name: "numa_scan_delay_ms", domain: range(1, 1_000_000, "ms", Log).or(AT_ONCE), absent: NO_NUMA, elsewhere: WITH_CFS,
        act: file!("numa_balancing/scan_delay_ms", "numa_balancing_scan_delay_ms", PLAIN),
        rationale: "how long a program runs before its memory is scanned for the first time",
        costs: "long: a short program's memory stays where it was first touched",
        source: "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing", ..ROW },
    Knob { name: "numa_scan_period_min_ms", domain: range(1, 1_000_000, "ms", Log), absent: NO_NUMA, elsewhere: WITH_CFS,
        act: file!("numa_balancing/scan_period_min_ms", "numa_balancing_scan_period_min_ms", PLAIN),
        rationale: "the shortest time between two scans of a program's memory",
        costs: "short: more page faults", source: "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing", ..ROW },
    Knob { name: "numa_scan_period_max_ms", domain: range(1, 1_000_000, "ms", Log), absent: NO_NUMA, elsewhere: WITH_CFS,
        act: file!("numa_balancing/scan_period_max_ms", "numa_balancing_scan_period_max_ms", PLAIN),
        rationale: "the longest time between two scans of a program's memory, reached where nothing moves",
        costs: "long: memory in the wrong place is found late", source: "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing", ..ROW },
    Knob { name: "numa_scan_size_mb", domain: range(1, 1_048_576, "MB", Log), absent: NO_NUMA, elsewhere: WITH_CFS,
        act: file!("numa_balancing/scan_size_mb", "numa_balancing_scan_size_mb", PLAIN),
        rationale: "how much memory one scan covers",
        costs: "large: longer interruptions", source: "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing", ..ROW },

    // --- features ----------------------------------------------------------------------------------------------------
    // Each has a row, so that each is a factor. Left out are those that only warn (WARN_DOUBLE_CLOCK,
    // LATENCY_WARN), those of realtime and deadline tasks, and those that correct the accounting of load
    // (ATTACH_AGE_LOAD, UTIL_EST_FASTUP).
    feature!("wakeup_preemption", "WAKEUP_PREEMPTION", WITH_CFS, NO_SUCH, (None, None),
        "a task that wakes up may interrupt the one that runs", "off: woken programs wait for the end of the other's turn"),
    feature!("next_buddy", "NEXT_BUDDY", WITH_CFS, NO_SUCH, (None, None),
        "the task that was woken last runs next: it may use what its waker left in the cache", "on: others wait longer"),
    feature!("cache_hot_buddy", "CACHE_HOT_BUDDY", WITH_CFS, NO_SUCH, (None, None),
        "tasks that wake each other count as cache-hot and are moved less", "on: CPUs stay idle a little longer"),
    feature!("hrtick", "HRTICK", WITH_CFS, NO_SUCH, (None, None),
        "a turn ends by its own timer, not at the next tick", "on: more timer interrupts"),
    feature!("ttwu_queue", "TTWU_QUEUE", WITH_CFS, NO_SUCH, (None, None),
        "a task of another CPU is woken through a queue there, without that CPU's lock", "on: an interrupt between CPUs for each"),
    feature!("sis_util", "SIS_UTIL", WITH_CFS, NO_SUCH, (None, None),
        "the busier the CPUs, the fewer of them are searched for an idle one", "on: an idle CPU is missed sometimes"),
    feature!("ni_random", "NI_RANDOM", WITH_CFS, NO_SUCH, (None, None),
        "a CPU that becomes idle looks for tasks of others in proportion to how often it found some", "on: it stays idle sometimes"),
    feature!("wa_idle", "WA_IDLE", WITH_CFS, NO_SUCH, (None, None),
        "a woken task goes to its waker's CPU when that is idle", "on: it leaves its own cache"),
    feature!("wa_weight", "WA_WEIGHT", WITH_CFS, NO_SUCH, (None, None),
        "a woken task goes to its own CPU or its waker's, whichever is less loaded", "on: it leaves its own cache"),
    feature!("wa_bias", "WA_BIAS", WITH_CFS, NO_SUCH, (None, None),
        "the waker's CPU has an advantage in the comparison of WA_WEIGHT", "on: programs that wake many tasks gather them on one CPU"),
    feature!("nontask_capacity", "NONTASK_CAPACITY", WITH_CFS, NO_SUCH, (None, None),
        "a CPU that interrupts keep busy counts as a slower one", "off: programs share a CPU with its interrupts"),
    feature!("lb_min", "LB_MIN", WITH_CFS, NO_SUCH, (None, None),
        "load balancing leaves tasks of little load where they are", "on: small tasks may queue up on one CPU"),
    feature!("util_est", "UTIL_EST", WITH_CFS, NO_SUCH, (None, None),
        "a task that slept counts at once as busy as it was before", "off: frequencies rise later"),
    feature!("gentle_fair_sleepers", "GENTLE_FAIR_SLEEPERS", WITH_CFS, UP_TO_6_5, UP_TO,
        "a task that slept makes up for half of the time, not for all of it", "off: those that sleep much delay others"),
    feature!("start_debit", "START_DEBIT", WITH_CFS, UP_TO_6_5, UP_TO,
        "a new task waits as if it had had its first turn", "off: programs that start many others starve the rest"),
    feature!("last_buddy", "LAST_BUDDY", WITH_CFS, UP_TO_6_5, UP_TO,
        "a task that was interrupted runs next: what it left is still in the cache", "on: others wait longer"),
    feature!("sis_prop", "SIS_PROP", WITH_CFS, UP_TO_6_5, UP_TO,
        "the longer CPUs are usually idle, the longer the search for an idle one may take", "on: an idle CPU is missed sometimes"),
    feature!("alt_period", "ALT_PERIOD", WITH_CFS, UP_TO_6_5, UP_TO,
        "the period counts all tasks of a CPU, not those of each group", "off: short turns in groups of few tasks"),
    feature!("base_slice", "BASE_SLICE", WITH_CFS, UP_TO_6_5, UP_TO,
        "no turn is shorter than the minimum granularity, not even in groups", "off: very short turns in nested groups"),
    feature!("pick_buddy", "PICK_BUDDY", WITH_EEVDF, SINCE_6_6, SINCE,
        "the task that NEXT_BUDDY chose runs before the one with the earliest deadline", "on: others wait longer"),
    feature!("place_lag", "PLACE_LAG", WITH_EEVDF, SINCE_6_6, SINCE,
        "a task keeps the time that it is owed, or owes, while it sleeps", "off: it wakes up with neither"),
    feature!("place_deadline_initial", "PLACE_DEADLINE_INITIAL", WITH_EEVDF, SINCE_6_6, SINCE,
        "a new task's first turn is half as long, so that it comes sooner", "off: new programs start later"),
    feature!("place_rel_deadline", "PLACE_REL_DEADLINE", WITH_EEVDF, SINCE_6_6, SINCE,
        "a task that is moved to another CPU keeps what was left of its turn", "off: it begins a new turn there"),
    feature!("run_to_parity", "RUN_TO_PARITY", WITH_EEVDF, SINCE_6_6, SINCE,
        "a task runs until it has had its share, whoever wakes up meanwhile", "on: woken programs wait; off: more switches"),
    feature!("preempt_short", "PREEMPT_SHORT", WITH_EEVDF, SINCE_6_6, SINCE,
        "a task with a shorter slice may interrupt despite RUN_TO_PARITY", "off: short slices do not shorten waits"),
    feature!("delay_dequeue", "DELAY_DEQUEUE", WITH_EEVDF, SINCE_6_6, SINCE,
        "a task that has had more than its share pays that off while it sleeps", "on: longer queues to search"),
    feature!("delay_zero", "DELAY_ZERO", WITH_EEVDF, SINCE_6_6, SINCE,
        "a task whose dequeue was delayed (DELAY_DEQUEUE) is owed nothing when it wakes up", "off: it may interrupt sooner"),
];
