//! The sources: a row each, with its files, the meaning of its numbers, its traps, and why it may be absent.
//!
//! docs/reference/load-sources.md is written from this table.

use serde::Serialize;

use super::file::Place;
use super::interface::Source;
use super::{
    cgroup, diskstats, frequency, interrupts, loadavg, meminfo, netdev, nfs, psi, schedstat, stat, vmstat,
};

/// The description of a source.
#[derive(Debug, Serialize)]
pub struct Row {
    pub name: &'static str,
    /// The files below the root. PID is the process that is read, N a CPU, GROUP a control group of the
    /// process.
    pub files: &'static [&'static str],
    /// The meaning of its numbers.
    pub what: &'static str,
    /// The unit of the numbers, and their resolution.
    pub unit: &'static str,
    /// The quantity that they are easily mistaken for.
    pub trap: &'static str,
    /// The reason why it may be absent.
    pub absent: &'static str,
    #[serde(skip)]
    pub open: fn(&Place) -> Box<dyn Source>,
}

/// All sources, in the order in which they are read: those that reading itself disturbs come first.
pub static TABLE: [Row; 13] = [
    Row {
        name: "loadavg",
        files: &["/proc/loadavg"],
        what: "load averages; runnable tasks at this moment, and all tasks",
        unit: "load in hundredths; tasks",
        trap: "running includes the reader itself; the averages lag by minutes and count tasks that wait for disks",
        absent: "/proc is not mounted or restricted",
        open: loadavg::open,
    },
    Row {
        name: "stat",
        files: &["/proc/stat"],
        what: "time of all CPUs and of each online by what it went to; context switches, forks; interrupts, those of devices, and software interrupts by kind; runnable and blocked tasks",
        unit: "times in ticks of 10 ms; counts (of single interrupts and of kinds 32 bits are printed)",
        trap: "interrupts without a number (the CPUs' own timers and calls) are only in intr; on Arm these have numbers, too; guest is also in user; steal, idle and iowait can run backwards; iowait is unreliable; a container may show only its own CPUs",
        absent: "/proc is not mounted or restricted",
        open: stat::open,
    },
    Row {
        name: "schedstat",
        files: &["/proc/schedstat", "/proc/PID/schedstat"],
        what: "per CPU: scheduler calls, wake-ups, time run and time waited by all tasks; of the process: run, wait, slices",
        unit: "ns; counts. Exact",
        trap: "of the process: only its leading thread. Waiting includes being throttled by a quota on many kernels",
        absent: "/proc/schedstat needs CONFIG_SCHEDSTATS, the process's file CONFIG_SCHED_INFO",
        open: schedstat::open,
    },
    Row {
        name: "psi",
        files: &["/proc/pressure/{cpu,io,memory,irq}", "GROUP/{cpu,io,memory,irq}.pressure"],
        what: "time in which some or all tasks waited for a resource, on the machine and in the process's own group",
        unit: "total in us; averages in hundredths of a percent",
        trap: "some is the time in which at least one task waited, no sum over tasks; \"full\" of the machine's CPUs is not defined and left out; averages are renewed every 2 s",
        absent: "CONFIG_PSI is off or the kernel was started with psi=0; irq needs Linux 6.1 and IRQ time accounting; groups need cgroup version 2",
        open: psi::open,
    },
    Row {
        name: "vmstat",
        files: &["/proc/vmstat"],
        what: "paging, swapping, refaults, reclaim, allocation stalls, compaction, NUMA and huge page events; pages by use",
        unit: "pages or events; pgpgin and pgpgout in KiB",
        trap: "pgpgin and pgpgout are block input and output, not paging: page-outs are pswpout and zswpout. Counts by zone and node lag by up to vm.stat_interval",
        absent: "/proc is not mounted or restricted",
        open: vmstat::open,
    },
    Row {
        name: "meminfo",
        files: &["/proc/meminfo"],
        what: "how memory is used now",
        unit: "KiB; huge pages in pages",
        trap: "all are states; MemFree does not measure what is left, MemAvailable is an estimate",
        absent: "/proc is not mounted or restricted",
        open: meminfo::open,
    },
    Row {
        name: "diskstats",
        files: &["/proc/diskstats", "/sys/block/*"],
        what: "per block device: requests, sectors and times of reads, writes, discards and flushes; requests in flight",
        unit: "sectors of 512 bytes on every device; ms of which 32 bits are printed (begin again after 49.7 days)",
        trap: "partitions and stacked devices count the same bytes again: add only those with whole and physical 1. busy_ms is not the utilisation where requests run in parallel",
        absent: "CONFIG_BLOCK is off, or /proc restricted; discards need Linux 4.18, flushes 5.5",
        open: diskstats::open,
    },
    Row {
        name: "netdev",
        files: &["/proc/PID/net/dev", "/sys/class/net/*/mtu"],
        what: "per network interface: bytes, packets, errors, drops, collisions; its MTU",
        unit: "bytes; packets",
        trap: "only interfaces of this network namespace; lo is not a network; bridges and bonds count their members' bytes again; the MTU is that of the first reading",
        absent: "CONFIG_NET is off, or /proc restricted",
        open: netdev::open,
    },
    Row {
        name: "interrupts",
        files: &["/proc/interrupts"],
        what: "hardware interrupts by source and CPU",
        unit: "interrupts, of which 32 bits are printed",
        trap: "reading costs by CPUs times sources, milliseconds on large machines; CPUs that are offline have no column",
        absent: "hidden in many containers",
        open: interrupts::open,
    },
    Row {
        name: "softirqs",
        files: &["/proc/softirqs"],
        what: "software interrupts by kind and CPU",
        unit: "times run, of which 32 bits are printed",
        trap: "ksoftirqd's share is in the CPU time of those tasks",
        absent: "/proc is restricted",
        open: interrupts::open_soft,
    },
    Row {
        name: "nfs",
        files: &["/proc/PID/net/rpc/nfs", "/proc/PID/mountstats"],
        what: "NFS client: calls and retransmissions; per mount and operation: calls, timeouts, bytes, time queued, on the way and in all",
        unit: "calls (of /proc/net/rpc/nfs 32 bits are printed); bytes; ms",
        trap: "mounts of one server may share their counts; round trips are within execute",
        absent: "this kernel has no NFS client, or it was not loaded yet: nothing is mounted by NFS",
        open: nfs::open,
    },
    Row {
        name: "frequency",
        files: &["/sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq", "/sys/devices/system/cpu/cpuN/thermal_throttle/*"],
        what: "each CPU's frequency now; how often and how long heat slowed down its core and its package",
        unit: "kHz; events; ms",
        trap: "on older kernels reading a frequency interrupts that CPU; with some drivers it is the requested frequency, not the real one. A package counts once for each of its CPUs",
        absent: "virtual machines have neither; throttling is reported by Intel processors only",
        open: frequency::open,
    },
    Row {
        name: "cgroup",
        files: &["GROUP/cpu.stat", "GROUP/memory.{stat,events,current,swap.current}", "GROUP/io.stat", "v1: GROUP/cpuacct.*, memory.usage_in_bytes, memory.failcnt, blkio.throttle.*"],
        what: "what the process's own control groups used, and how long a quota held them back",
        unit: "names say it: usec, ns, bytes; v1.cpu.throttled_time in ns; v1.cpuacct.ticks in 10 ms",
        trap: "the group holds everything in it, becalm's own agent too; the root group has few files",
        absent: "control groups are not mounted, their controllers are not enabled, or the process is in the root group",
        open: cgroup::open,
    },
];

/// Return the row of a name.
pub fn find(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}
