//! Tests with machines that change between two readings: CPUs and disks come and go, counters wrap and run
//! backwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::super::file::Place;
use super::super::snapshot::{difference, Snapshot, Unknown};
use super::super::table::find;
use super::super::Reader;

/// A machine below a temporary directory, which can change.
pub struct Changing(pub PathBuf);

impl Changing {
    pub fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("becalm-load-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/self/net")).unwrap();
        Self(root)
    }

    pub fn write(&self, path: &str, text: &[u8]) {
        fs::create_dir_all(self.0.join(path).parent().unwrap()).unwrap();
        fs::write(self.0.join(path), text).unwrap();
    }

    pub fn reader(&self, source: &str) -> Reader {
        Reader::new(&Place::new(&self.0), find(source).into_iter())
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn changes(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, Result<u64, Unknown>> {
    difference(before, after).remove(0).changes.into_iter().collect()
}

#[test]
fn cpus_that_come_and_go_and_steal_that_runs_backwards() {
    let machine = Changing::new("stat");
    let mut reader = machine.reader("stat");
    let stat = |text: &str| machine.write("proc/stat", text.as_bytes());
    stat("cpu  10 0 0 0 0 0 0 9 0 0\ncpu0 5 0 0 0 0 0 0 9 0 0\ncpu1 5 0 0 0 0 0 0 0 0 0\nctxt 100\nprocs_running 9\n");
    let one = reader.snapshot();
    stat("cpu  17 0 0 0 0 0 0 7 0 0\ncpu0 6 0 0 0 0 0 0 7 0 0\ncpu2 1 0 0 0 0 0 0 0 0 0\nctxt 107\nprocs_running 1\n");
    let two = reader.snapshot();
    let moved = changes(&one, &two);
    assert_eq!(moved["cpu.user"], Ok(7));
    assert_eq!(moved["cpu0.steal"], Err(Unknown::Backwards));
    assert_eq!(moved["cpu0.user"], Ok(1));
    assert_eq!(moved["cpu1.user"], Err(Unknown::Disappeared));
    assert_eq!(moved["cpu2.user"], Err(Unknown::Appeared));
    assert_eq!(moved["ctxt"], Ok(7));
    assert!(!moved.contains_key("procs_running"), "a state");
    assert!(changes(&two, &one).values().all(|change| *change == Err(Unknown::Order)));
    stat("cpu  18 0\nctxt x\n");
    let three = reader.snapshot();
    let moved = changes(&two, &three);
    assert_eq!(moved["cpu.user"], Ok(1));
    assert_eq!(moved["cpu.idle"], Err(Unknown::Unread));
    assert_eq!(moved["ctxt"], Err(Unknown::Unread));
    fs::remove_file(machine.0.join("proc/stat")).unwrap();
    let gone = difference(&three, &reader.snapshot()).remove(0);
    assert_eq!(gone.absent.as_deref(), Some("/proc/stat does not exist"));
    assert!(gone.changes.iter().all(|(_, change)| *change == Err(Unknown::Disappeared)));
}

#[test]
fn disks_appear_wrap_and_gain_columns() {
    let machine = Changing::new("disks");
    let mut reader = machine.reader("diskstats");
    machine
        .write("proc/diskstats", b"8 0 sda 1 0 8 4294967290 0 0 0 0 0 0 0\n8 0 sda 7 0 8 9 0 0 0 0 0 0 0\n");
    let twice = reader.snapshot();
    machine.write("proc/diskstats", b"8 0 sda 1 0 8 4294967290 0 0 0 0 0 0 0\n");
    let one = reader.snapshot();
    assert_eq!(changes(&twice, &one)["sda.reads"], Err(Unknown::Twice));
    machine.write(
        "proc/diskstats",
        b"8 0 sda 3 0 16 4 0 0 0 0 0 0 0 0 0 0 0 1 2 99 100\n8 16 sdb 5 0 8 9 0 0 0 0 0 0 0\n",
    );
    let moved = changes(&one, &reader.snapshot());
    assert_eq!((moved["sda.reads"], moved["sda.sectors_read"], moved["sda.read_ms"]), (Ok(2), Ok(8), Ok(10)));
    assert_eq!(moved["sda.flushes"], Err(Unknown::Unread), "the file had no such column before");
    assert_eq!(moved["sdb.reads"], Err(Unknown::Appeared));
}

#[test]
fn a_source_that_was_not_read_on_one_side_has_no_difference() {
    let machine = Changing::new("sides");
    machine.write("proc/stat", b"ctxt 1\n");
    machine.write("proc/vmstat", b"pgfault 1\n");
    let (one, two) = (machine.reader("stat").snapshot(), machine.reader("vmstat").snapshot());
    let moved = difference(&one, &two);
    assert_eq!(moved.iter().map(|each| each.name).collect::<Vec<_>>(), ["vmstat", "stat"]);
    assert!(moved.iter().all(|each| each.absent.is_some() && each.interval_ns.is_none()));
    assert!(moved.iter().flat_map(|each| &each.changes).all(|(_, change)| change.is_err()));
}

#[test]
fn thousands_of_cpus_and_disks() {
    let machine = Changing::new("large");
    let (cpus, disks) = (4096, 3000);
    let line = |n: u32| format!("cpu{n} {n} 2 3 4 5 6 7 8 9 10\n");
    machine.write("proc/stat", (0..cpus).map(line).collect::<String>().as_bytes());
    let disk = |n: u32| format!("   8 {n} sd{n} {n} 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
    machine.write("proc/diskstats", (0..disks).map(disk).collect::<String>().as_bytes());
    let header: String = (0..cpus).map(|n| format!(" CPU{n}")).collect();
    let row: String = (0..cpus).map(|n| format!(" {n}")).collect();
    machine.write("proc/interrupts", format!("{header}\n 24:{row} chip edge disk\nLOC:{row}\n").as_bytes());
    let taken = Reader::all(&Place::new(&machine.0)).snapshot();
    assert_eq!(taken.value("stat", "cpu4095.user"), Some(4095));
    assert_eq!(taken.value("diskstats", "sd2999.reads"), Some(2999));
    assert_eq!(taken.value("interrupts", "24:disk.cpu4000"), Some(4000));
}

#[test]
fn frequencies_are_those_of_the_cpus_online() {
    let machine = Changing::new("online");
    let mut reader = machine.reader("frequency");
    let file = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    machine.write("sys/devices/system/cpu/online", b"0-1\n");
    machine.write(&file(0), b"800000\n");
    machine.write(&file(1), b"900000\n");
    let one = reader.snapshot();
    assert_eq!(one.value("frequency", "cpu1.frequency_khz"), Some(900_000));
    fs::remove_dir_all(machine.0.join("sys/devices/system/cpu/cpu1")).unwrap();
    let gone = reader.snapshot();
    assert_eq!(gone.value("frequency", "cpu1.frequency_khz"), None, "it goes before `online` says so");
    machine.write("sys/devices/system/cpu/online", b"0\n");
    let two = reader.snapshot();
    assert!(two.named(&two.sections[0]).all(|(name, ..)| name.starts_with("cpu0.")));
    assert_eq!(two.value("frequency", "cpu0.frequency_khz"), Some(800_000));
}

#[test]
fn a_process_that_moves_to_another_group_has_that_groups_accounts() {
    let machine = Changing::new("groups");
    let mut reader = machine.reader("cgroup");
    machine.write("proc/self/mountinfo", b"28 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    machine.write("sys/fs/cgroup/one/cpu.stat", b"usage_usec 1\n");
    machine.write("sys/fs/cgroup/two/cpu.stat", b"usage_usec 2\nthrottled_usec 3\n");
    machine.write("proc/self/cgroup", b"0::/one\n");
    let one = reader.snapshot();
    assert_eq!(one.value("cgroup", "v2.cpu.usage_usec"), Some(1));
    machine.write("proc/self/cgroup", b"0::/two\n");
    let two = reader.snapshot();
    assert_eq!(two.value("cgroup", "v2.cpu.usage_usec"), Some(2));
    assert_eq!(two.value("cgroup", "v2.cpu.throttled_usec"), Some(3));
}

#[test]
fn another_process_is_asked_by_its_number() {
    let machine = Changing::new("process");
    machine.write("proc/self/schedstat", b"1 2 3\n");
    machine.write("proc/77/schedstat", b"4 5 6\n");
    let mut reader = Reader::new(&Place::of_process(&machine.0, 77), find("schedstat").into_iter());
    assert_eq!(reader.snapshot().value("schedstat", "task.wait_ns"), Some(5));
}
