//! The columns that were added later: older stores lack them. A new one is added at the end.

use crate::load::column::{Column, Each, Form, Kind, Pooling};
use crate::load::table::kinds::{sum, sum32, COUNTED, MACHINE, OWN_CPUS};

pub const COLUMNS: &[Column] = &[
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
