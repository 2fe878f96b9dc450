//! The record itself, and the processors and memory of the machine.

use crate::load::column::{Column, Each, Form, Kind, Pooling, Take};
use crate::load::table::kinds::{sum, MACHINE, RECORD};

pub const COLUMNS: &[Column] = &[
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
        meaning: "number of samples, taken every 100 ms by a separate thread, less often where that would take more than 3 of 10,000 of one CPU",
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
];
