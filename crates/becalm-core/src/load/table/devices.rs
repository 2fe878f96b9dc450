//! Disks, networks, pressure and interrupts of the machine.

use crate::load::column::{Column, Each, Kind, Pooling, Take};
use crate::load::table::kinds::{sum, sum32, MACHINE};

pub const COLUMNS: &[Column] = &[
    Column {
        name: "disk_read_bytes",
        unit: "bytes",
        source: "diskstats",
        metric: "becalm_disk_read_bytes_total",
        meaning:
            "read from whole disks with their own device; partitions and stacked devices would count it again",
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
        take: sum(
            &["*.receive_errors", "*.receive_drops", "*.send_errors", "*.send_drops", "*.collisions"],
            Each::One,
        ),
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
        meaning:
            "how often heat slowed a core down; a package counts once for each of its CPUs and is left out",
        take: sum(&["*.core_throttles"], Each::One),
        ..MACHINE
    },
];
