//! The counters of a record: which columns there are, and which values of which source count in them.

use crate::source::TICK_NS;

/// Sources of a record, the cheap ones: what is read before and after.
pub const SOURCES: [&str; 8] =
    ["stat", "vmstat", "diskstats", "netdev", "psi", "loadavg", "nfs", "frequency"];

/// Columns that are differences of counters, in ns, bytes or events.
pub const COUNTED: [&str; 27] = [
    "busy_ns",
    "idle_ns",
    "iowait_ns",
    "irq_ns",
    "softirq_ns",
    "steal_ns",
    "interrupts",
    "switches",
    "swap_out_bytes",
    "swap_in_bytes",
    "refaults",
    "direct_reclaims",
    "major_faults",
    "disk_read_bytes",
    "disk_write_bytes",
    "disk_busy_ns",
    "net_in_bytes",
    "net_out_bytes",
    "net_packets",
    "net_errors",
    "loopback_bytes",
    "pressure_cpu_ns",
    "pressure_io_ns",
    "pressure_memory_ns",
    "nfs_calls",
    "nfs_retransmissions",
    "throttled",
];

/// The source of each column, by its place in `SOURCES`.
const OF: [usize; COUNTED.len()] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 6, 6, 7];

/// The source of a column of `COUNTED`, by its place in `SOURCES`.
pub fn place_of(column: usize) -> usize {
    OF[column]
}

/// The source of a column of `COUNTED`.
pub fn source_of(column: usize) -> &'static str {
    SOURCES[OF[column]]
}

/// The columns that a value of a source counts in, and how many of their units one of it is.
pub(super) fn columns(source: &str, name: &str) -> Vec<(&'static str, u64)> {
    let page = page_bytes();
    let last = name.rsplit_once('.').map_or(name, |(_, last)| last);
    match source {
        "stat" => match name {
            "cpu.user" | "cpu.nice" | "cpu.system" => vec![("busy_ns", TICK_NS)],
            "cpu.idle" => vec![("idle_ns", TICK_NS)],
            "cpu.iowait" => vec![("idle_ns", TICK_NS), ("iowait_ns", TICK_NS)],
            "cpu.irq" => vec![("irq_ns", TICK_NS)],
            "cpu.softirq" => vec![("softirq_ns", TICK_NS)],
            "cpu.steal" => vec![("steal_ns", TICK_NS)],
            "intr" => vec![("interrupts", 1)],
            "ctxt" => vec![("switches", 1)],
            _ => vec![],
        },
        "vmstat" => match name {
            "pswpout" | "zswpout" => vec![("swap_out_bytes", page)],
            "pswpin" | "zswpin" => vec![("swap_in_bytes", page)],
            // Split into anonymous and file pages since Linux 5.9.
            "workingset_refault" | "workingset_refault_anon" | "workingset_refault_file" => {
                vec![("refaults", 1)]
            }
            "pgmajfault" => vec![("major_faults", 1)],
            // One for each zone since Linux 4.10.
            name if name.starts_with("allocstall") => vec![("direct_reclaims", 1)],
            _ => vec![],
        },
        "diskstats" => match last {
            "sectors_read" => vec![("disk_read_bytes", 512)],
            "sectors_written" => vec![("disk_write_bytes", 512)],
            "busy_ms" => vec![("disk_busy_ns", 1_000_000)],
            _ => vec![],
        },
        "netdev" if name == "lo.received_bytes" => vec![("loopback_bytes", 1)],
        "netdev" if name.starts_with("lo.") => vec![],
        "netdev" => match last {
            "received_bytes" => vec![("net_in_bytes", 1)],
            "sent_bytes" => vec![("net_out_bytes", 1)],
            "received_packets" | "sent_packets" => vec![("net_packets", 1)],
            "receive_errors" | "receive_drops" | "send_errors" | "send_drops" | "collisions" => {
                vec![("net_errors", 1)]
            }
            _ => vec![],
        },
        "psi" => match name {
            "cpu.some.total_us" => vec![("pressure_cpu_ns", 1000)],
            "io.some.total_us" => vec![("pressure_io_ns", 1000)],
            "memory.some.total_us" => vec![("pressure_memory_ns", 1000)],
            _ => vec![],
        },
        "nfs" => match name {
            "rpc.calls" => vec![("nfs_calls", 1)],
            "rpc.retransmissions" => vec![("nfs_retransmissions", 1)],
            _ => vec![],
        },
        // A package's throttling counts once for each of its CPUs: the cores' alone add up.
        "frequency" if last == "core_throttles" => vec![("throttled", 1)],
        _ => vec![],
    }
}

pub(super) fn page_bytes() -> u64 {
    // SAFETY: no pointers; it is known on every Linux.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
