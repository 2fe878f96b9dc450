//! Digests of the snapshots of one reader.
//!
//! The values of a snapshot that belong to a column are looked up when the layout of a source changes, not
//! for each snapshot.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::column::{Each, Take};
use super::counted::{factor, is_called, COUNTED, SOURCES, STATES};
use super::digest::{Digest, DEVICES, FIRST_STATE, WIDTH};
use super::table::TABLE;
use crate::source::interface::Rows;
use crate::source::layout::{Kind, Layout, UNKNOWN};
use crate::source::snapshot::{known, Section, Snapshot};

/// A maker of digests of the snapshots of one reader.
#[derive(Default)]
pub struct Machine {
    plans: Vec<Plan>,
}

/// The conversion of the sampler's rows to digests.
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

/// The places of one source's numbers among its values.
#[derive(Default)]
struct Plan {
    layout: Arc<Layout>,
    devices: u64,
    /// The place in `COUNTED`, the factor (None: unknown), and the place of the value.
    picks: Vec<(usize, Option<u64>, usize)>,
    /// The place in `STATES`, and the places of the values.
    states: Vec<(usize, Vec<usize>)>,
}

impl Machine {
    /// Return the digest of a snapshot.
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
        let of_source = |column: &usize| TABLE[*column].source == source;
        for (place, (name, _)) in names.iter().enumerate() {
            let row = name.rsplit_once('.').map(|(row, _)| row);
            // Partitions and stacked devices count the same bytes again.
            if source == "diskstats" && !row.is_some_and(|disk| is_disk(disk, &names, values)) {
                continue;
            }
            for (index, column) in COUNTED.iter().enumerate().filter(|(_, column)| of_source(column)) {
                let Take::Sum { of, each, .. } = TABLE[*column].take else { continue };
                // Loopback is not a network: it counts only where it is named.
                let meant = |pattern: &str| row != Some("lo") || pattern == name;
                if of.iter().any(|pattern| meant(pattern) && is_called(name, pattern)) {
                    let each = if each == Each::Mtu { mtu(row, &names, values) } else { Some(factor(each)) };
                    self.picks.push((index, each, place));
                    name.hash(&mut counted);
                }
            }
        }
        // Sums over other devices cannot be compared. CPUs are not among the names: their sum is the kernel's.
        self.devices = counted.finish();
        let called = |column: usize| {
            let pattern = TABLE[column].take.names().first().copied().unwrap_or_default();
            let found = names.iter().enumerate().filter(move |(_, (name, _))| is_called(name, pattern));
            found.map(|(place, _)| place).collect()
        };
        let states = STATES.iter().enumerate().filter(|(_, column)| of_source(column));
        self.states = states.map(|(index, column)| (index, called(*column))).collect();
        self.layout = Arc::clone(&section.layout);
    }

    fn take(&self, values: &[u64], made: &mut [u64; WIDTH]) {
        let mut unread = [false; COUNTED.len()];
        for (column, factor, place) in &self.picks {
            let sum = &mut made[1 + column];
            match known(values[*place]).zip(*factor) {
                _ if unread[*column] => {}
                Some((value, factor)) => {
                    *sum = known(*sum).unwrap_or(0).wrapping_add(value.wrapping_mul(factor))
                }
                None => (*sum, unread[*column]) = (UNKNOWN, true),
            }
        }
        for (state, places) in &self.states {
            made[FIRST_STATE + state] = match TABLE[STATES[*state]].take {
                Take::Count(_) if places.is_empty() => UNKNOWN,
                Take::Count(_) => places.len() as u64,
                _ => {
                    let there = places.iter().filter_map(|place| known(values[*place]));
                    let (sum, count) =
                        there.fold((0_u64, 0), |(sum, count), each| (sum.wrapping_add(each), count + 1));
                    sum.checked_div(count).unwrap_or(UNKNOWN)
                }
            };
        }
    }
}

/// Return the MTU of an interface.
fn mtu(interface: Option<&str>, names: &[(String, Kind)], values: &[u64]) -> Option<u64> {
    let name = format!("{}.mtu", interface?);
    known(values[names.iter().position(|(found, _)| *found == name)?])
}

fn is_disk(disk: &str, names: &[(String, Kind)], values: &[u64]) -> bool {
    let is = |what: &str| {
        let name = format!("{disk}.{what}");
        names.iter().position(|(found, _)| *found == name).is_some_and(|place| values[place] == 1)
    };
    is("whole") && is("physical")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::counted::page_bytes;
    use crate::source::file::Place;
    use crate::source::snapshot::Unknown;
    use crate::source::table::find;
    use crate::source::Reader;
    use crate::source::TICK_NS;
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
        COUNTED.iter().position(|column| TABLE[*column].name == name).unwrap()
    }

    #[test]
    fn columns_are_sums_of_their_parts() {
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
        assert_eq!(
            (first.state_of("cpus"), second.state_of("cpus")),
            (Some(2), Some(1)),
            "a CPU went offline"
        );
        assert_eq!(first.0[1 + at("disk_read_bytes")], 11 * 512, "whole disks of their own");
        assert_eq!(first.others_running(), None);
    }

    #[test]
    fn packets_are_as_large_as_their_interface_allows_and_unknown_where_that_is() {
        let tree = Tree::new("packets");
        let net = |received: u64, sent: u64| {
            format!("a\nb\n lo: 7 9 0 0 0 0 0 0 7 9 0 0 0 0 0 0\n eth0: 64 {received} 0 0 0 0 0 0 64 {sent} 0 0 0 0 0 0\n")
        };
        for (mtu, expected) in [(Some("9000"), Ok(5 * 9000)), (None, Err(Unknown::Unread))] {
            let directory = tree.0.join("sys/class/net/eth0");
            match mtu {
                Some(mtu) => {
                    fs::create_dir_all(&directory).unwrap();
                    fs::write(directory.join("mtu"), mtu).unwrap();
                }
                None => fs::remove_dir_all(&directory).unwrap(),
            }
            let (mut reader, mut machine) = (tree.reader(), Machine::default());
            tree.write("proc/self/net/dev", &net(1, 2));
            let first = machine.digest(&reader.snapshot());
            tree.write("proc/self/net/dev", &net(3, 5));
            let moved = machine.digest(&reader.snapshot()).difference(&first);
            assert_eq!(moved[at("net_mtu_bytes")], expected, "{mtu:?}");
        }
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
    fn this_machine_has_the_columns_that_every_linux_has() {
        let (mut reader, mut machine) = (reader(Path::new("/")), Machine::default());
        let first = machine.digest(&reader.snapshot());
        let second = machine.digest(&reader.snapshot());
        for name in ["busy_ns", "interrupts", "switches", "swap_out_bytes", "major_faults"] {
            assert!(second.since(&first, at(name)).is_ok(), "{name}");
        }
        assert!(first.state_of("cpus") >= Some(1) && first.state_of("queue") >= Some(1));
        assert!(second.at_ns() > first.at_ns());
    }
}
