//! The table of load columns: a row each, in the order of the agent's `loads` rows.
//!
//! Everything else about columns comes of it: what is read and how it is added up (`counted`, `machine`, `digest`), the
//! names in the greeting, and, by `becalm-agent tables`, the store's columns, Python's `Load`, Prometheus' names and
//! docs/reference/columns.md. A new column stands at the end and is not `always` known: stores that were made before lack it.

use super::column::{Column, Each, Form, Kind, Pooling, Subject, Take};

const RECORD: Column = Column {
    name: "",
    unit: "",
    form: Form::Integer,
    subject: Subject::Record,
    kind: Kind::State,
    source: "agent",
    pooling: Pooling::First,
    always: true,
    metric: "",
    meaning: "",
    take: Take::Given,
};

const MACHINE: Column = Column {
    subject: Subject::Machine,
    kind: Kind::Difference,
    pooling: Pooling::Sum,
    always: false,
    ..RECORD
};

/// What the kernel tells of finished tasks.
const TASKS: Column = Column { subject: Subject::Programs, source: "taskstats", unit: "ns", ..MACHINE };

/// What it tells of the control group around the programs.
const GROUP: Column = Column { subject: Subject::Programs, source: "group", unit: "ns", ..MACHINE };

/// Of the CPUs that the programs may use.
const OWN_CPUS: Column = Column { subject: Subject::Programs, source: "stat", ..MACHINE };

/// What the processor counted of the programs.
const COUNTED: Column = Column { subject: Subject::Programs, source: "counters", ..MACHINE };

const ALWAYS: Column = Column { subject: Subject::Programs, ..RECORD };

const fn sum(of: &'static [&'static str], each: Each) -> Take {
    Take::Sum { of, each, wraps: false }
}

/// Of counters of which the kernel prints 32 bits.
const fn sum32(of: &'static [&'static str], each: Each) -> Take {
    Take::Sum { of, each, wraps: true }
}

/// All columns.
pub const TABLE: &[Column] = &[
    Column {
        name: "first",
        meaning: "sequence number of the first run that it covers",
        ..RECORD
    },
    Column {
        name: "last",
        pooling: Pooling::Max,
        meaning: "sequence number of the last run that it covers",
        ..RECORD
    },
    Column {
        name: "started_ns",
        unit: "ns",
        meaning: "Unix time of the beginning, on the clock of the runs",
        ..RECORD
    },
    Column {
        name: "interval_ns",
        unit: "ns",
        kind: Kind::Difference,
        pooling: Pooling::Sum,
        meaning: "how long it lasted",
        ..RECORD
    },
    Column {
        name: "cpus",
        unit: "CPUs",
        kind: Kind::State,
        pooling: Pooling::First,
        source: "stat",
        metric: "becalm_cpus",
        meaning: "CPUs online; unknown when that changed during the interval",
        take: Take::Count("cpu*.user"),
        ..MACHINE
    },
    Column {
        name: "busy_ns",
        unit: "ns",
        source: "stat",
        metric: "becalm_cpu_seconds_total{mode=\"busy\"}",
        meaning: "time of all CPUs in programs and in the kernel on their behalf: user, nice and system, guests included, interrupts and steal left out",
        take: sum(&["cpu.user", "cpu.nice", "cpu.system"], Each::Tick),
        ..MACHINE
    },
    Column {
        name: "idle_ns",
        unit: "ns",
        source: "stat",
        metric: "becalm_cpu_seconds_total{mode=\"idle\"}",
        meaning: "time of all CPUs with nothing to run, waiting for I/O included",
        take: sum(&["cpu.idle", "cpu.iowait"], Each::Tick),
        ..MACHINE
    },
    Column {
        name: "iowait_ns",
        unit: "ns",
        source: "stat",
        metric: "becalm_iowait_seconds_total",
        meaning: "time of idle CPUs with a request for a device under way; the kernel calls it unreliable",
        take: sum(&["cpu.iowait"], Each::Tick),
        ..MACHINE
    },
    Column {
        name: "irq_ns",
        unit: "ns",
        source: "stat",
        metric: "becalm_cpu_seconds_total{mode=\"irq\"}",
        meaning: "time of all CPUs in hardware interrupts",
        take: sum(&["cpu.irq"], Each::Tick),
        ..MACHINE
    },
    Column {
        name: "softirq_ns",
        unit: "ns",
        source: "stat",
        metric: "becalm_cpu_seconds_total{mode=\"softirq\"}",
        meaning: "time of all CPUs in software interrupts",
        take: sum(&["cpu.softirq"], Each::Tick),
        ..MACHINE
    },
    Column {
        name: "steal_ns",
        unit: "ns",
        source: "stat",
        metric: "becalm_cpu_seconds_total{mode=\"steal\"}",
        meaning: "time of all CPUs that the hypervisor gave to somebody else",
        take: sum(&["cpu.steal"], Each::Tick),
        ..MACHINE
    },
    Column {
        name: "queue",
        unit: "tasks",
        form: Form::Real,
        kind: Kind::State,
        pooling: Pooling::Mean,
        source: "loadavg",
        metric: "becalm_run_queue_tasks",
        meaning: "runnable tasks without the sampler: mean of the samples. Without a sample (short blocks) unknown: at both ends the program does not run, so what is seen there is not the load",
        take: Take::Sampled("running"),
        ..MACHINE
    },
    Column {
        name: "queue_peak",
        unit: "tasks",
        kind: Kind::State,
        pooling: Pooling::Max,
        source: "loadavg",
        meaning: "the largest of these samples",
        ..MACHINE
    },
    Column {
        name: "samples",
        unit: "samples",
        always: true,
        source: "loadavg",
        meaning: "so many samples, taken every 100 ms by a thread of its own, less often where that would take more than 3 of 10,000 of one CPU",
        ..MACHINE
    },
    Column {
        name: "swap_out_bytes",
        unit: "bytes",
        source: "vmstat",
        metric: "becalm_swap_out_bytes_total",
        meaning: "pages swapped out, zswap included. Not pgpgout, which is all block output",
        take: sum(&["pswpout", "zswpout"], Each::Page),
        ..MACHINE
    },
    Column {
        name: "swap_in_bytes",
        unit: "bytes",
        source: "vmstat",
        metric: "becalm_swap_in_bytes_total",
        meaning: "pages swapped in, zswap included",
        take: sum(&["pswpin", "zswpin"], Each::Page),
        ..MACHINE
    },
    Column {
        name: "refaults",
        unit: "pages",
        source: "vmstat",
        metric: "becalm_refaults_total",
        meaning: "pages that were read again soon after they had been dropped (anonymous and file pages apart since Linux 5.9)",
        take: sum(&["workingset_refault", "workingset_refault_anon", "workingset_refault_file"], Each::One),
        ..MACHINE
    },
    Column {
        name: "direct_reclaims",
        unit: "events",
        source: "vmstat",
        metric: "becalm_direct_reclaims_total",
        meaning: "how often a program had to free memory itself before it got some (one counter for each zone since Linux 4.10)",
        take: sum(&["allocstall", "allocstall_*"], Each::One),
        ..MACHINE
    },
    Column {
        name: "major_faults",
        unit: "events",
        source: "vmstat",
        metric: "becalm_major_faults_total",
        meaning: "page faults for which something was read",
        take: sum(&["pgmajfault"], Each::One),
        ..MACHINE
    },
    Column {
        name: "disk_read_bytes",
        unit: "bytes",
        source: "diskstats",
        metric: "becalm_disk_read_bytes_total",
        meaning: "read from whole disks with a device of their own; partitions and stacked devices would count it again",
        take: sum(&["*.sectors_read"], Each::Sector),
        ..MACHINE
    },
    Column {
        name: "disk_write_bytes",
        unit: "bytes",
        source: "diskstats",
        metric: "becalm_disk_written_bytes_total",
        meaning: "written to these disks",
        take: sum(&["*.sectors_written"], Each::Sector),
        ..MACHINE
    },
    Column {
        name: "disk_busy_ns",
        unit: "ns",
        source: "diskstats",
        metric: "becalm_disk_busy_seconds_total",
        meaning: "time in which a disk had a request under way, summed over disks",
        take: sum32(&["*.busy_ms"], Each::Millisecond),
        ..MACHINE
    },
    Column {
        name: "net_in_bytes",
        unit: "bytes",
        source: "netdev",
        metric: "becalm_network_received_bytes_total",
        meaning: "received by all interfaces of this network namespace but loopback",
        take: sum(&["*.received_bytes"], Each::One),
        ..MACHINE
    },
    Column {
        name: "net_out_bytes",
        unit: "bytes",
        source: "netdev",
        metric: "becalm_network_sent_bytes_total",
        meaning: "sent by these interfaces",
        take: sum(&["*.sent_bytes"], Each::One),
        ..MACHINE
    },
    Column {
        name: "net_packets",
        unit: "packets",
        source: "netdev",
        metric: "becalm_network_packets_total",
        meaning: "packets received and sent by these interfaces",
        take: sum(&["*.received_packets", "*.sent_packets"], Each::One),
        ..MACHINE
    },
    Column {
        name: "net_errors",
        unit: "events",
        source: "netdev",
        metric: "becalm_network_errors_total",
        meaning: "errors, drops and collisions of these interfaces",
        take: sum(&["*.receive_errors", "*.receive_drops", "*.send_errors", "*.send_drops", "*.collisions"], Each::One),
        ..MACHINE
    },
    Column {
        name: "loopback_bytes",
        unit: "bytes",
        source: "netdev",
        metric: "becalm_loopback_bytes_total",
        meaning: "bytes between programs of this machine",
        take: sum(&["lo.received_bytes"], Each::One),
        ..MACHINE
    },
    Column {
        name: "nfs_calls",
        unit: "calls",
        source: "nfs",
        metric: "becalm_nfs_calls_total",
        meaning: "calls of the NFS client; unknown where nothing is mounted by NFS",
        take: sum32(&["rpc.calls"], Each::One),
        ..MACHINE
    },
    Column {
        name: "nfs_retransmissions",
        unit: "calls",
        source: "nfs",
        metric: "becalm_nfs_retransmissions_total",
        meaning: "calls of the NFS client that were sent again",
        take: sum32(&["rpc.retransmissions"], Each::One),
        ..MACHINE
    },
    Column {
        name: "pressure_cpu_ns",
        unit: "ns",
        source: "psi",
        metric: "becalm_pressure_seconds_total{resource=\"cpu\"}",
        meaning: "time in which at least one task of the machine waited for a CPU (PSI some)",
        take: sum(&["cpu.some.total_us"], Each::Microsecond),
        ..MACHINE
    },
    Column {
        name: "pressure_io_ns",
        unit: "ns",
        source: "psi",
        metric: "becalm_pressure_seconds_total{resource=\"io\"}",
        meaning: "time in which at least one task of the machine waited for a device (PSI some)",
        take: sum(&["io.some.total_us"], Each::Microsecond),
        ..MACHINE
    },
    Column {
        name: "pressure_memory_ns",
        unit: "ns",
        source: "psi",
        metric: "becalm_pressure_seconds_total{resource=\"memory\"}",
        meaning: "time in which at least one task of the machine waited for memory (PSI some)",
        take: sum(&["memory.some.total_us"], Each::Microsecond),
        ..MACHINE
    },
    Column {
        name: "interrupts",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_total",
        meaning: "interrupts of the machine",
        take: sum(&["intr"], Each::One),
        ..MACHINE
    },
    Column {
        name: "switches",
        unit: "events",
        source: "stat",
        metric: "becalm_context_switches_total",
        meaning: "context switches of the machine",
        take: sum(&["ctxt"], Each::One),
        ..MACHINE
    },
    Column {
        name: "frequency_khz",
        unit: "kHz",
        kind: Kind::State,
        pooling: Pooling::Mean,
        source: "frequency",
        metric: "becalm_cpu_frequency_hertz",
        meaning: "mean frequency of the CPUs at both ends",
        take: Take::Mean("*.frequency_khz"),
        ..MACHINE
    },
    Column {
        name: "throttled",
        unit: "events",
        source: "frequency",
        metric: "becalm_thermal_throttles_total",
        meaning: "how often heat slowed a core down; a package counts once for each of its CPUs and is left out",
        take: sum(&["*.core_throttles"], Each::One),
        ..MACHINE
    },
    Column {
        name: "level",
        pooling: Pooling::Min,
        meaning: "what the kernel lets be known of the programs: 0 CPU time alone (wait4), 1 /proc/PID/schedstat, 2 taskstats, 3 taskstats with delay accounting",
        ..ALWAYS
    },
    Column {
        name: "scope",
        form: Form::Word,
        meaning: "of how much of the programs the next columns are true: \"leader\" (the first thread), \"group\" (all threads of the first process), \"tree\" (it and all descendants that had ended when it did)",
        ..ALWAYS
    },
    Column {
        name: "exec_ns",
        meaning: "CPU time of the programs by the scheduler's clock, from where wall_ns of their runs begins",
        ..TASKS
    },
    Column {
        name: "wait_ns",
        meaning: "time on a run queue, ready but not running, from there on: what a new process waits before its program begins is none of it",
        ..TASKS
    },
    Column {
        name: "block_ns",
        meaning: "time spent waiting for block devices; needs delay accounting (kernel.task_delayacct; `becalm watch` and `explain --designed` switch it on as root, for their runs), as the next ones do; they are nested in one another, so not to be added up",
        ..TASKS
    },
    Column {
        name: "swapin_ns",
        meaning: "time spent waiting for pages to be swapped in",
        ..TASKS
    },
    Column {
        name: "reclaim_ns",
        meaning: "time spent freeing memory before getting some",
        ..TASKS
    },
    Column {
        name: "thrashing_ns",
        meaning: "time spent waiting for pages that had been dropped too early",
        ..TASKS
    },
    Column {
        name: "compact_ns",
        meaning: "time spent compacting memory",
        ..TASKS
    },
    Column {
        name: "copy_ns",
        meaning: "time spent waiting for copies of write-protected pages",
        ..TASKS
    },
    Column {
        name: "irq_delay_ns",
        meaning: "time spent waiting for interrupts that ran on its CPU",
        ..TASKS
    },
    Column {
        name: "quota_ns",
        meaning: "time in which quotas of the control groups around the programs kept them from running",
        ..GROUP
    },
    Column {
        name: "own_cpu_pressure_ns",
        meaning: "time in which a task of the programs' own control group waited for a CPU (PSI some); unknown, as the next two, for programs that settings put into another group",
        ..GROUP
    },
    Column {
        name: "own_io_pressure_ns",
        meaning: "time in which a task of the programs' own control group waited for a device (PSI some)",
        ..GROUP
    },
    Column {
        name: "own_memory_pressure_ns",
        meaning: "time in which a task of the programs' own control group waited for memory (PSI some)",
        ..GROUP
    },
    Column {
        name: "tasks",
        unit: "tasks",
        meaning: "threads and processes that the sums are of",
        ..TASKS
    },
    Column {
        name: "lost",
        unit: "tasks",
        meaning: "ends of tasks that the kernel could not tell: the sums are too small where this is not 0",
        ..TASKS
    },
    Column {
        name: "cost_ns",
        unit: "ns",
        kind: Kind::Difference,
        pooling: Pooling::Sum,
        always: false,
        meaning: "CPU time that observing took, the sampler's thread included",
        ..RECORD
    },
    Column {
        name: "system_ns",
        unit: "ns",
        source: "stat",
        metric: "becalm_system_seconds_total",
        meaning: "time of all CPUs in the kernel on behalf of programs; part of busy_ns",
        take: sum(&["cpu.system"], Each::Tick),
        ..MACHINE
    },
    Column {
        name: "disk_transfers",
        unit: "requests",
        source: "diskstats",
        metric: "becalm_disk_transfers_total",
        meaning: "reads and writes that these disks have finished; disk_read_bytes and disk_write_bytes over it are the mean size of one",
        take: sum(&["*.reads", "*.writes"], Each::One),
        ..MACHINE
    },
    Column {
        name: "net_mtu_bytes",
        unit: "bytes",
        source: "netdev",
        metric: "becalm_network_mtu_bytes_total",
        meaning: "packets of these interfaces, each taken for as large as the interface allows (its MTU): Mund's formula (1996), which is more than was moved, by far where packets are small. For comparison with what has no bytes",
        take: sum(&["*.received_packets", "*.sent_packets"], Each::Mtu),
        ..MACHINE
    },
    Column {
        name: "device_interrupts",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"device\"}",
        meaning: "interrupts that have a number: of devices. The rest of interrupts are the CPUs' own: timers, and calls from one to another (on Arm these have numbers, too)",
        take: sum32(&["intr.devices"], Each::One),
        ..MACHINE
    },
    Column {
        name: "softirqs_timer",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"timer\"}",
        meaning: "software interrupts of timers that ran out",
        take: sum32(&["softirq.timer", "softirq.hrtimer"], Each::One),
        ..MACHINE
    },
    Column {
        name: "softirqs_network",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"network\"}",
        meaning: "software interrupts of packets received and sent, loopback included",
        take: sum32(&["softirq.net_rx", "softirq.net_tx"], Each::One),
        ..MACHINE
    },
    Column {
        name: "softirqs_block",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"block\"}",
        meaning: "software interrupts of requests that block devices finished; many disks finish theirs in the interrupt itself",
        take: sum32(&["softirq.block", "softirq.irq_poll"], Each::One),
        ..MACHINE
    },
    Column {
        name: "softirqs_scheduler",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"scheduler\"}",
        meaning: "software interrupts in which tasks were shared out over CPUs anew",
        take: sum32(&["softirq.sched"], Each::One),
        ..MACHINE
    },
    Column {
        name: "softirqs_rcu",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"rcu\"}",
        meaning: "software interrupts of the kernel's deferred freeing (RCU)",
        take: sum32(&["softirq.rcu"], Each::One),
        ..MACHINE
    },
    Column {
        name: "cycles",
        unit: "cycles",
        meaning: "CPU cycles of the programs and all that they started, by the processor's own counter; unknown without one (`becalm doctor`: hardware counters), and when it never ran",
        ..COUNTED
    },
    Column {
        name: "instructions",
        unit: "instructions",
        meaning: "instructions that these finished, counted together with the cycles",
        ..COUNTED
    },
    Column {
        name: "counters_enabled_ns",
        unit: "ns",
        meaning: "CPU time in which both were to be counted",
        ..COUNTED
    },
    Column {
        name: "counters_running_ns",
        unit: "ns",
        meaning: "CPU time in which they were: less where others wanted the counters, too. Nothing is scaled by it",
        ..COUNTED
    },
    Column {
        name: "counters_scope",
        form: Form::Word,
        kind: Kind::State,
        pooling: Pooling::First,
        meaning: "what they are of: \"all\", or \"user\" where the kernel's own work may not be counted (kernel.perf_event_paranoid above 1, without root)",
        ..COUNTED
    },
    Column {
        name: "own_cpus",
        unit: "CPUs",
        kind: Kind::State,
        pooling: Pooling::First,
        meaning: "CPUs online that the programs could use at their end (sched_getaffinity(2)); unknown when not all of them could use the same",
        ..OWN_CPUS
    },
    Column {
        name: "own_cpus_busy_ns",
        unit: "ns",
        meaning: "as busy_ns, of these CPUs",
        ..OWN_CPUS
    },
    Column {
        name: "own_cpus_steal_ns",
        unit: "ns",
        meaning: "as steal_ns, of these CPUs",
        ..OWN_CPUS
    },
];

/// So many columns there are.
pub const WIDTH: usize = TABLE.len();

/// Their names, in the order of the table.
pub const NAMES: [&str; WIDTH] = {
    let mut names = [""; WIDTH];
    let mut index = 0;
    while index < WIDTH {
        names[index] = TABLE[index].name;
        index += 1;
    }
    names
};
