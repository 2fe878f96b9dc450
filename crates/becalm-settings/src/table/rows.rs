//! The rows of the table: a line for each file that a setting writes, and the files that the kernel changes with them.
//!
//! A `*` stands for letters within one name. A row whose pattern is not a path is a place of another kind.

use super::values::AllowedValues::{self, Cpus, Default, Mask, Number, Word, Words};

/// A knob, its place, and the values that the place accepts.
pub type Row = (&'static str, &'static str, AllowedValues);

const ON: AllowedValues = Words(&["0", "1"]);

/// The beginning of the knobs of the scheduler's features; the kernel's name of a feature follows.
pub const FEATURE: &str = "sched_feature_";

/// The files of all cpusets of version 1 except the root's: `*` stands for a path here.
pub const SETS: &str = "/sys/fs/cgroup/cpuset*/cpuset.cpus";

/// Everything that settings write.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    ("smt", "/sys/devices/system/cpu/smt/control", Words(&["on", "off"])),
    ("online_cpus", "/sys/devices/system/cpu/cpu*/online", ON),
    ("governor", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", Word),
    ("turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", ON),
    ("turbo", "/sys/devices/system/cpu/cpufreq/boost", ON),
    ("frequency_floor", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq", Number(1, 20_000_000)),
    ("cpu_dma_latency", "latency", Number(0, 2_000_000_000)),
    ("swap", "swap area", Words(&["off"])),
    ("transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled", Words(&["always", "madvise", "never"])),
    ("hugepage_defrag", "/sys/kernel/mm/transparent_hugepage/defrag",
        Words(&["always", "defer", "defer+madvise", "madvise", "never"])),
    ("ksm", "/sys/kernel/mm/ksm/run", ON),
    ("numa_balancing", "/proc/sys/kernel/numa_balancing", ON),
    ("swappiness", "/proc/sys/vm/swappiness", Number(0, 200)),
    ("stat_interval", "/proc/sys/vm/stat_interval", Number(1, 2_147_483)),
    ("delay_accounting", "/proc/sys/kernel/task_delayacct", ON),
    ("perf_rate", "/proc/sys/kernel/perf_event_max_sample_rate", Number(1, 1_000_000)),
    ("watchdogs", "/proc/sys/kernel/watchdog", ON),
    ("watchdogs", "/proc/sys/kernel/soft_watchdog", ON),
    ("watchdogs", "/proc/sys/kernel/nmi_watchdog", ON),
    ("aslr_system", "/proc/sys/kernel/randomize_va_space", Number(0, 2)),
    ("timer_migration", "/proc/sys/kernel/timer_migration", ON),
    ("workqueue_cpus", "/sys/devices/virtual/workqueue/cpumask", Mask),
    ("irq_affinity", "/proc/irq/default_smp_affinity", Mask),
    ("irq_affinity", "/proc/irq/*/smp_affinity", Mask),
    ("services", "service", Words(&["running", "stopped"])),
    ("isolation", "cpuset isolated", Words(&["present"])),
    ("isolation", "cpuset rest", Words(&["present"])),
    ("isolation", "controller cpuset", Words(&["on"])),
    ("isolation", "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", Words(&["0"])),
    ("isolation", SETS, Cpus),
    ("cpu_weight", "weighted", Number(1, 10_000)),
    ("cpu_weight", "controller cpu", Words(&["on"])),
    ("process_cpus", "process", Cpus),
    ("sched_latency_ns", "/sys/kernel/debug/sched/latency_ns", Number(100_000, 1_000_000_000)),
    ("sched_latency_ns", "/proc/sys/kernel/sched_latency_ns", Number(100_000, 1_000_000_000)),
    ("sched_min_granularity_ns", "/sys/kernel/debug/sched/min_granularity_ns", Number(100_000, 1_000_000_000)),
    ("sched_min_granularity_ns", "/proc/sys/kernel/sched_min_granularity_ns", Number(100_000, 1_000_000_000)),
    ("sched_wakeup_granularity_ns", "/sys/kernel/debug/sched/wakeup_granularity_ns", Number(0, 1_000_000_000)),
    ("sched_wakeup_granularity_ns", "/proc/sys/kernel/sched_wakeup_granularity_ns", Number(0, 1_000_000_000)),
    ("sched_idle_min_granularity_ns", "/sys/kernel/debug/sched/idle_min_granularity_ns", Number(0, 1_000_000_000)),
    ("sched_child_runs_first", "/proc/sys/kernel/sched_child_runs_first", ON),
    ("sched_base_slice_ns", "/sys/kernel/debug/sched/base_slice_ns", Number(100_000, 1_000_000_000)),
    ("sched_migration_cost_ns", "/sys/kernel/debug/sched/migration_cost_ns", Number(0, 4_294_967_295)),
    ("sched_migration_cost_ns", "/proc/sys/kernel/sched_migration_cost_ns", Number(0, 4_294_967_295)),
    ("sched_nr_migrate", "/sys/kernel/debug/sched/nr_migrate", Number(1, 4096)),
    ("sched_nr_migrate", "/proc/sys/kernel/sched_nr_migrate", Number(1, 4096)),
    ("sched_tunable_scaling", "/sys/kernel/debug/sched/tunable_scaling", Number(0, 2)),
    ("sched_tunable_scaling", "/proc/sys/kernel/sched_tunable_scaling", Number(0, 2)),
    ("sched_preempt", "/sys/kernel/debug/sched/preempt", Words(&["none", "voluntary", "full", "lazy"])),
    ("autogroup", "/proc/sys/kernel/sched_autogroup_enabled", ON),
    ("sched_cfs_bandwidth_slice_us", "/proc/sys/kernel/sched_cfs_bandwidth_slice_us", Number(1, 1_000_000)),
    ("sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us", Number(-1, 1_000_000)),
    ("sched_rr_timeslice_ms", "/proc/sys/kernel/sched_rr_timeslice_ms", Default(1, 10_000)),
    ("numa_scan_delay_ms", "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms", Number(0, 1_000_000)),
    ("numa_scan_delay_ms", "/proc/sys/kernel/numa_balancing_scan_delay_ms", Number(0, 1_000_000)),
    ("numa_scan_period_min_ms", "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms", Number(1, 1_000_000)),
    ("numa_scan_period_min_ms", "/proc/sys/kernel/numa_balancing_scan_period_min_ms", Number(1, 1_000_000)),
    ("numa_scan_period_max_ms", "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms", Number(1, 1_000_000)),
    ("numa_scan_period_max_ms", "/proc/sys/kernel/numa_balancing_scan_period_max_ms", Number(1, 1_000_000)),
    ("numa_scan_size_mb", "/sys/kernel/debug/sched/numa_balancing/scan_size_mb", Number(1, 1_048_576)),
    ("numa_scan_size_mb", "/proc/sys/kernel/numa_balancing_scan_size_mb", Number(1, 1_048_576)),
    (FEATURE, "/sys/kernel/debug/sched/features", Words(&["on", "off"])),
    (FEATURE, "/sys/kernel/debug/sched_features", Words(&["on", "off"])),
];

/// The scheduler's features that may be switched.
#[rustfmt::skip]
pub const FEATURES: &[&str] = &[
    "WAKEUP_PREEMPTION", "NEXT_BUDDY", "CACHE_HOT_BUDDY", "HRTICK", "TTWU_QUEUE", "SIS_UTIL", "NI_RANDOM", "WA_IDLE",
    "WA_WEIGHT", "WA_BIAS", "NONTASK_CAPACITY", "LB_MIN", "UTIL_EST", "GENTLE_FAIR_SLEEPERS", "START_DEBIT", "LAST_BUDDY",
    "SIS_PROP", "ALT_PERIOD", "BASE_SLICE", "PICK_BUDDY", "PLACE_LAG", "PLACE_DEADLINE_INITIAL", "PLACE_REL_DEADLINE",
    "RUN_TO_PARITY", "PREEMPT_SHORT", "DELAY_DEQUEUE", "DELAY_ZERO",
];

/// The services that rewrite settings, which may be stopped for a while.
#[rustfmt::skip]
pub const SERVICES: &[&str] = &[
    "tuned", "power-profiles-daemon", "auto-cpufreq", "tlp", "tlp-pd", "laptop_mode", "system76-power", "cpupower", "cpufreqd",
    "thermald", "irqbalance", "numad", "ksmtuned", "gamemoded", "ananicy", "ananicy-cpp", "scx_loader",
];

/// Files that the kernel changes when others are written; they are restored with them.
#[rustfmt::skip]
pub const SIDE_EFFECTS: &[&str] = &[
    "/sys/devices/system/cpu/cpu*/online",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/boost",
    "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq",
    "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
    "/sys/kernel/debug/sched/latency_ns",
    "/sys/kernel/debug/sched/min_granularity_ns",
    "/sys/kernel/debug/sched/wakeup_granularity_ns",
    "/sys/kernel/debug/sched/base_slice_ns",
    "/sys/class/net/*/queues/tx-*/xps_cpus",
    "/sys/devices/system/cpu/cpufreq/conservative/*",
    "/sys/devices/system/cpu/cpufreq/ondemand/*",
    "/sys/devices/system/cpu/cpufreq/schedutil/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/conservative/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/ondemand/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/schedutil/*",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/busy_factor",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/cache_nice_tries",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/imbalance_pct",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/max_interval",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/min_interval",
    "/proc/sys/vm/min_free_kbytes",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/kernel/rcu_expedited",
    "/proc/irq/*/smp_affinity",
    "/proc/irq/*/effective_affinity_list",
    SETS,
];
