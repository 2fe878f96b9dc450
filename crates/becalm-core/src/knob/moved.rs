//! Files that the kernel writes itself when another one is written, by the patterns in the rows of the
//! catalogue.
//!
//! A `*` in a pattern stands for any letters within one name (`table`). CPUs that are offline have no such files.

/// The values of frequency governors: a governor forgets its own when the last policy leaves it
/// (cpufreq_dbs_governor_exit in drivers/cpufreq/cpufreq_governor.c), by another governor or because its CPUs
/// go offline.
pub const GOVERNORS: &[&str] = &[
    "/sys/devices/system/cpu/cpufreq/conservative/*",
    "/sys/devices/system/cpu/cpufreq/ondemand/*",
    "/sys/devices/system/cpu/cpufreq/schedutil/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/conservative/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/ondemand/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/schedutil/*",
];

/// The load balancing of each group of CPUs: the kernel recreates all groups when CPUs come or go and when
/// cpusets divide them (register_sched_domain_sysctl in kernel/sched/debug.c), with their initial values.
pub const DOMAINS: &[&str] = &[
    "/sys/kernel/debug/sched/domains/cpu*/domain*/busy_factor",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/cache_nice_tries",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/imbalance_pct",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/max_interval",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/min_interval",
];
