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
        meaning: "reads and writes that these disks have finished; their mean size is the sum of disk_read_bytes and disk_write_bytes divided by this number",
        take: sum(&["*.reads", "*.writes"], Each::One),
        ..MACHINE
    },
    Column {
        name: "net_mtu_bytes",
        unit: "bytes",
        source: "netdev",
        metric: "becalm_network_mtu_bytes_total",
        meaning: "packets of these interfaces, each counted as large as the interface allows (its MTU): Mund's formula (1996), which gives more than was moved, and far more where packets are small. For comparison with records that have packets but no bytes",
        take: sum(&["*.received_packets", "*.sent_packets"], Each::Mtu),
        ..MACHINE
    },
    Column {
        name: "device_interrupts",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"device\"}",
        meaning: "interrupts with a number: those of devices. The rest of the column interrupts are the CPUs' own: timers, and calls from one CPU to another (on Arm these have numbers, too)",
        take: sum32(&["intr.devices"], Each::One),
        ..MACHINE
    },
    Column {
        name: "softirqs_timer",
        unit: "events",
        source: "stat",
        metric: "becalm_interrupts_by_source_total{source=\"timer\"}",
        meaning: "software interrupts of timers that expired",
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
        meaning: "software interrupts for load balancing between CPUs",
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
        meaning: "instructions that these programs finished, counted together with the cycles",
        ..COUNTED
    },
    Column {
        name: "counters_enabled_ns",
        unit: "ns",
        meaning: "CPU time during which both counters were enabled",
        ..COUNTED
    },
    Column {
        name: "counters_running_ns",
        unit: "ns",
        meaning: "CPU time during which both counted: less than counters_enabled_ns where others used the counters, too. Nothing is scaled by it",
        ..COUNTED
    },
    Column {
        name: "counters_scope",
        form: Form::Word,
        kind: Kind::State,
        pooling: Pooling::First,
        meaning: "what both count: \"all\", or \"user\" where the kernel's own work may not be counted (kernel.perf_event_paranoid above 1, without root)",
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
        meaning: "busy_ns of these CPUs",
        ..OWN_CPUS
    },
    Column {
        name: "own_cpus_steal_ns",
        unit: "ns",
        meaning: "steal_ns of these CPUs",
        ..OWN_CPUS
    },
];
