//! What the machine did, in the few numbers of a record: a digest of a snapshot, and differences between two.
//!
//! Which of a snapshot's values belong to a column is looked up when the layout of a source changes, not for each
//! snapshot. A digest is flat, so that the sampler's ring can carry it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::source::layout::{Kind, Layout, UNKNOWN};
use crate::source::sampler::Rows;
use crate::source::snapshot::{known, wrapped, Section, Snapshot, Unknown};

pub use crate::source::snapshot::Change;

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

/// The source of a column of `COUNTED`.
pub fn source_of(column: usize) -> &'static str {
    SOURCES[OF[column]]
}

/// Numbers of a flat digest: the time, the counted columns, three states, and for each source a number that
/// stands for the devices that were counted.
pub const WIDTH: usize = 1 + COUNTED.len() + 3 + SOURCES.len();

const CPUS: usize = 1 + COUNTED.len();
const RUNNING: usize = CPUS + 1;
const FREQUENCY: usize = CPUS + 2;
const DEVICES: usize = CPUS + 3;

/// A tick of /proc/stat: USER_HZ is 100 on every architecture of today (include/asm-generic/param.h).
const TICK_NS: u64 = 10_000_000;

/// One snapshot in the numbers of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u64; WIDTH]);

impl Digest {
    /// CLOCK_MONOTONIC_RAW just before the first source was read, ns.
    pub fn at_ns(&self) -> i64 {
        self.0[0] as i64
    }

    /// CPUs online.
    pub fn cpus(&self) -> Option<u64> {
        known(self.0[CPUS])
    }

    /// Runnable tasks, whoever reads included.
    pub fn running(&self) -> Option<u64> {
        known(self.0[RUNNING])
    }

    /// Mean frequency of the CPUs, kHz.
    pub fn frequency_khz(&self) -> Option<u64> {
        known(self.0[FREQUENCY])
    }

    /// How far a column of `COUNTED` moved since an earlier digest of the same `Machine`.
    pub fn since(&self, before: &Self, column: usize) -> Change {
        let devices = DEVICES + OF[column];
        if self.0[devices] != before.0[devices] {
            return Err(Unknown::Changed);
        }
        let (Some(one), Some(two)) = (known(before.0[1 + column]), known(self.0[1 + column])) else {
            return Err(Unknown::Unread);
        };
        let unit = match COUNTED[column] {
            // Sums of milliseconds of which 32 bits are printed: when one of them begins again, the sum loses 2^32.
            "disk_busy_ns" => 1_000_000,
            "nfs_calls" | "nfs_retransmissions" => 1,
            _ => return two.checked_sub(one).ok_or(Unknown::Backwards),
        };
        two.checked_sub(one)
            .or_else(|| wrapped(one / unit, two / unit).map(|moved| moved * unit))
            .ok_or(Unknown::Backwards)
    }

    /// All columns since an earlier digest.
    pub fn difference(&self, before: &Self) -> [Change; COUNTED.len()] {
        std::array::from_fn(|column| self.since(before, column))
    }
}

/// Makes digests of the snapshots of one reader.
#[derive(Default)]
pub struct Machine {
    plans: Vec<Plan>,
}

/// The sampler's rows as digests.
pub struct Digests {
    machine: Machine,
    last: Digest,
}

impl Default for Digests {
    fn default() -> Self {
        Self { machine: Machine::default(), last: Digest([UNKNOWN; WIDTH]) }
    }
}

impl Rows for Digests {
    fn row(&mut self, snapshot: &Snapshot) -> &[u64] {
        self.last = self.machine.digest(snapshot);
        &self.last.0
    }
}

/// Where the numbers of one source are among its values.
#[derive(Default)]
struct Plan {
    layout: Arc<Layout>,
    devices: u64,
    /// Column, factor, place.
    picks: Vec<(usize, u64, usize)>,
    frequencies: Vec<usize>,
    running: Option<usize>,
    cpus: usize,
}

impl Machine {
    /// The digest of a snapshot.
    pub fn digest(&mut self, snapshot: &Snapshot) -> Digest {
        let mut made = [UNKNOWN; WIDTH];
        made[0] = snapshot.sections.first().map_or(UNKNOWN, |section| section.at_ns as u64);
        self.plans.resize_with(SOURCES.len(), Plan::default);
        for (index, (plan, name)) in self.plans.iter_mut().zip(SOURCES).enumerate() {
            let Some(section) = snapshot.section(name) else { continue };
            let values = snapshot.of(section);
            if !Arc::ptr_eq(&plan.layout, &section.layout) {
                plan.look_up(name, section, values);
            }
            plan.take(values, &mut made);
            made[DEVICES + index] = plan.devices;
        }
        Digest(made)
    }
}

impl Plan {
    fn look_up(&mut self, source: &str, section: &Section, values: &[u64]) {
        let names: Vec<(String, Kind)> = section.layout.names().take(section.len).collect();
        let mut counted = DefaultHasher::new();
        self.picks.clear();
        self.frequencies.clear();
        (self.running, self.cpus) = (None, 0);
        for (place, (name, _)) in names.iter().enumerate() {
            match (source, name.rsplit_once('.')) {
                ("stat", Some((cpu, "user"))) if cpu != "cpu" => self.cpus += 1,
                ("loadavg", None) if name == "running" => self.running = Some(place),
                ("frequency", Some((_, "frequency_khz"))) => self.frequencies.push(place),
                // Partitions and stacked devices count the same bytes again.
                ("diskstats", Some((disk, _))) if !is_disk(disk, &names, values) => continue,
                _ => {}
            }
            for (column, factor) in columns(source, name) {
                if let Some(column) = COUNTED.iter().position(|counted| *counted == column) {
                    self.picks.push((column, factor, place));
                    name.hash(&mut counted);
                }
            }
        }
        // Sums over other devices cannot be compared. CPUs are not among the names: their sum is the kernel's.
        self.devices = counted.finish();
        self.layout = Arc::clone(&section.layout);
    }

    fn take(&self, values: &[u64], made: &mut [u64; WIDTH]) {
        let mut unread = [false; COUNTED.len()];
        for (column, factor, place) in &self.picks {
            let sum = &mut made[1 + column];
            match known(values[*place]) {
                _ if unread[*column] => {}
                Some(value) => *sum = known(*sum).unwrap_or(0).wrapping_add(value.wrapping_mul(*factor)),
                None => (*sum, unread[*column]) = (UNKNOWN, true),
            }
        }
        if self.cpus > 0 {
            made[CPUS] = self.cpus as u64;
        }
        if let Some(place) = self.running {
            made[RUNNING] = values[place];
        }
        let frequencies = self.frequencies.iter().filter_map(|place| known(values[*place]));
        let (sum, count) = frequencies.fold((0, 0), |(sum, count), each| (sum + each, count + 1));
        made[FREQUENCY] = sum.checked_div(count).unwrap_or(UNKNOWN);
    }
}

fn is_disk(disk: &str, names: &[(String, Kind)], values: &[u64]) -> bool {
    let is = |what: &str| {
        let name = format!("{disk}.{what}");
        names.iter().position(|(found, _)| *found == name).is_some_and(|place| values[place] == 1)
    };
    is("whole") && is("physical")
}

/// The columns that a value of a source counts in, and how many of their units one of it is.
fn columns(source: &str, name: &str) -> Vec<(&'static str, u64)> {
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

fn page_bytes() -> u64 {
    // SAFETY: no pointers; it is known on every Linux.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::file::Place;
    use crate::source::table::find;
    use crate::source::Reader;
    use std::fs;
    use std::path::{Path, PathBuf};

    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("becalm-machine-{name}-{}", std::process::id()));
            fs::create_dir_all(root.join("proc/self/net")).unwrap();
            for disk in ["sda", "sdb"] {
                fs::create_dir_all(root.join(format!("sys/block/{disk}/device"))).unwrap();
            }
            fs::create_dir_all(root.join("sys/block/dm-0")).unwrap();
            Self(root)
        }

        fn write(&self, file: &str, text: &str) {
            fs::write(self.0.join(file), text).unwrap();
        }

        fn reader(&self) -> Reader {
            reader(&self.0)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn reader(root: &Path) -> Reader {
        Reader::new(&Place::new(root), SOURCES.iter().filter_map(|name| find(name)))
    }

    fn at(name: &str) -> usize {
        COUNTED.iter().position(|column| *column == name).unwrap()
    }

    #[test]
    fn columns_are_sums_of_what_belongs_to_them() {
        let tree = Tree::new("sums");
        tree.write("proc/stat", "cpu 10 1 5 100 7 2 3 4 0 0\ncpu0 5 1 5 50 7 2 3 4 0 0\ncpu1 5 0 0 50 0 0 0 0 0 0\nintr 9 1\nctxt 8\n");
        tree.write(
            "proc/vmstat",
            "pswpin 1\npswpout 2\nzswpout 3\npgpgout 999\nallocstall_dma 1\nallocstall_normal 4\n",
        );
        tree.write(
            "proc/diskstats",
            " 8 0 sda 1 0 10 0 1 0 20 0 0 5 0\n 8 1 sda1 1 0 10 0 1 0 20 0 0 5 0\n 253 0 dm-0 1 0 10 0 1 0 20 0 0 5 0\n 8 16 sdb 1 0 1 0 1 0 2 0 0 5 0\n",
        );
        let net = |bytes: u64| {
            format!(
                "a\nb\n lo: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n eth0: {bytes} 2 1 0 0 0 0 0 4 3 0 0 0 5 0 0\n"
            )
        };
        tree.write("proc/self/net/dev", &net(100));
        let (mut reader, mut machine) = (tree.reader(), Machine::default());
        let first = machine.digest(&reader.snapshot());
        tree.write("proc/stat", "cpu 13 1 5 101 9 2 3 3 0 0\ncpu0 5 1 5 50 7 2 3 4 0 0\nintr 19 1\nctxt 8\n");
        tree.write(
            "proc/vmstat",
            "pswpin 1\npswpout 4\nzswpout 6\npgpgout 9999\nallocstall_dma 1\nallocstall_normal 6\n",
        );
        tree.write("proc/self/net/dev", &net(150));
        let second = machine.digest(&reader.snapshot());
        let moved = second.difference(&first);
        for (name, value) in [
            ("busy_ns", 3 * TICK_NS),
            ("idle_ns", 3 * TICK_NS),
            ("iowait_ns", 2 * TICK_NS),
            ("swap_out_bytes", 5 * page_bytes()),
            ("direct_reclaims", 2),
            ("disk_read_bytes", 0),
            ("net_in_bytes", 50),
            ("interrupts", 10),
        ] {
            assert_eq!(moved[at(name)], Ok(value), "{name}");
        }
        assert_eq!(moved[at("steal_ns")], Err(Unknown::Backwards));
        for absent in ["pressure_cpu_ns", "nfs_calls", "refaults", "throttled"] {
            assert_eq!(moved[at(absent)], Err(Unknown::Unread), "{absent}");
        }
        assert_eq!((first.cpus(), second.cpus()), (Some(2), Some(1)), "a CPU went offline");
        assert_eq!(first.0[1 + at("disk_read_bytes")], 11 * 512, "whole disks of their own");
        assert_eq!(first.running(), None);
    }

    #[test]
    fn a_disk_that_comes_or_goes_makes_sums_over_disks_unknown_and_no_others() {
        let tree = Tree::new("disks");
        tree.write("proc/stat", "cpu 1 1 1 1 1 1 1 1\n");
        let one = " 8 0 sda 1 0 10 0 1 0 20 0 0 5 0\n";
        let two = format!("{one} 8 16 sdb 1 0 1000 0 1 0 2 0 0 5 0\n");
        let (mut reader, mut machine) = (tree.reader(), Machine::default());
        let mut digest = |text: &str| {
            tree.write("proc/diskstats", text);
            machine.digest(&reader.snapshot())
        };
        let (a, b, c, d) = (digest(one), digest(&two), digest(&two), digest(one));
        assert_eq!(b.since(&a, at("disk_read_bytes")), Err(Unknown::Changed));
        assert_eq!(b.since(&a, at("busy_ns")), Ok(0));
        assert_eq!(c.since(&b, at("disk_read_bytes")), Ok(0));
        assert_eq!(d.since(&c, at("disk_read_bytes")), Err(Unknown::Changed));
        assert_eq!(d.since(&a, at("disk_read_bytes")), Ok(0), "the same one disk");
    }

    #[test]
    fn milliseconds_of_32_bits_begin_again() {
        let column = at("disk_busy_ns");
        let digest = |ms: u64| {
            let mut numbers = [0; WIDTH];
            numbers[1 + column] = ms * 1_000_000;
            Digest(numbers)
        };
        let near = (1 << 32) - 5;
        assert_eq!(digest(7).since(&digest(near), column), Ok(12_000_000));
        assert_eq!(digest(near + 7).since(&digest(2 * near), column), Ok(12_000_000), "one of two disks");
        assert_eq!(digest(7).since(&digest(1 << 31), column), Err(Unknown::Backwards), "a reset");
    }

    #[test]
    fn this_machine_has_the_columns_that_every_linux_has() {
        let (mut reader, mut machine) = (reader(Path::new("/")), Machine::default());
        let first = machine.digest(&reader.snapshot());
        let second = machine.digest(&reader.snapshot());
        for name in ["busy_ns", "interrupts", "switches", "swap_out_bytes", "major_faults"] {
            assert!(second.since(&first, at(name)).is_ok(), "{name}");
        }
        assert!(first.cpus() >= Some(1) && first.running() >= Some(1));
        assert!(second.at_ns() > first.at_ns());
    }
}
