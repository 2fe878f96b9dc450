//! Tests with threads of one process that come and go, and files of it that cannot be read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::source::process::{gone, Process};

const TICK: u64 = 10_000_000;

struct Fake(PathBuf);

impl Fake {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("becalm-process-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("task")).unwrap();
        let made = Self(root);
        made.stat("", 0);
        fs::write(
            made.0.join("io"),
            "rchar: 9\nwchar: 8\nsyscr: 3\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 0\n",
        )
        .unwrap();
        made
    }

    fn stat(&self, below: &str, started: u64) {
        let numbers: Vec<String> =
            (4..53).map(|field| if field == 22 { started } else { field }.to_string()).collect();
        fs::write(self.0.join(below).join("stat"), format!("7 (a) b) c) S {}\n", numbers.join(" "))).unwrap();
    }

    fn thread(&self, tid: u32, started: u64, numbers: [u64; 3]) {
        let path = format!("task/{tid}");
        fs::create_dir_all(self.0.join(&path)).unwrap();
        self.stat(&path, started);
        let [run, wait, slices] = numbers;
        fs::write(self.0.join(&path).join("schedstat"), format!("{run} {wait} {slices}\n")).unwrap();
        let status =
            format!("Name:\tx\nvoluntary_ctxt_switches:\t{slices}\nnonvoluntary_ctxt_switches:\t1\n");
        fs::write(self.0.join(&path).join("status"), status).unwrap();
    }

    fn end(&self, tid: u32) {
        fs::remove_dir_all(self.0.join(format!("task/{tid}"))).unwrap();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn sums_of_threads_that_come_and_go_never_go_backwards() {
    let fake = Fake::new("sums");
    let mut process = Process::new(&fake.0, true);
    fake.thread(7, 100, [1000, 10, 5]);
    fake.thread(8, 101, [2000, 20, 6]);
    let first = process.read().unwrap();
    assert_eq!((first.run_ns, first.wait_ns, first.ended), (Some(3000), Some(30), 0));
    fake.end(8);
    fake.thread(9, 102, [1, 1, 1]);
    let second = process.read().unwrap();
    assert_eq!((second.run_ns, second.wait_ns, second.ended), (Some(3001), Some(31), 1));
    assert_eq!((second.voluntary, second.involuntary), (Some(12), Some(3)));
    // Number 9 is another thread now, which has run for longer than the one before.
    fake.thread(9, 200, [50, 2, 3]);
    let third = process.read().unwrap();
    assert_eq!((third.run_ns, third.wait_ns, third.ended), (Some(3051), Some(33), 2));
    // Its start time does not differ, but it has fewer slices.
    fake.thread(9, 200, [60, 2, 2]);
    assert_eq!(process.read().unwrap().run_ns, Some(3111));
}

#[test]
fn fields_of_the_whole_process() {
    let fake = Fake::new("fields");
    fake.thread(7, 0, [1, 2, 3]);
    let account = Process::new(&fake.0, true).read().unwrap();
    assert_eq!((account.name.as_str(), account.state.as_str()), ("a) b) c", "S"));
    assert_eq!((account.user_ns, account.system_ns), (Some(14 * TICK), Some(15 * TICK)));
    assert_eq!((account.minor_faults, account.major_faults, account.threads), (Some(10), Some(12), 20));
    assert_eq!(
        (account.read_bytes, account.written_bytes, account.read_calls),
        (Some(4096), Some(0), Some(3))
    );
    assert_eq!(account.block_ns, Some(42 * TICK));
    assert!(account.missing.is_empty());
}

#[test]
fn unreadable_values_are_unknown_and_listed_as_missing() {
    let fake = Fake::new("unknown");
    fake.thread(7, 0, [1, 2, 3]);
    fs::remove_file(fake.0.join("io")).unwrap();
    fs::write(fake.0.join("task/7/schedstat"), "0\n").unwrap();
    let account = Process::new(&fake.0, false).read().unwrap();
    assert_eq!((account.read_bytes, account.wait_ns, account.run_ns), (None, None, None));
    assert_eq!(account.missing.len(), 2, "{:?}", account.missing);
}

#[test]
fn a_process_that_has_gone_is_an_error_and_a_thread_that_has_is_none() {
    let fake = Fake::new("gone");
    fake.thread(7, 0, [1, 2, 3]);
    fs::create_dir_all(fake.0.join("task/8")).unwrap();
    let mut process = Process::new(&fake.0, false);
    assert_eq!(process.read().unwrap().run_ns, Some(1), "8 ended while it was read");
    fs::remove_file(fake.0.join("stat")).unwrap();
    assert!(gone(&process.read().unwrap_err()));
}

#[test]
fn blocking_is_unknown_without_delay_accounting() {
    let fake = Fake::new("delays");
    fake.thread(7, 0, [1, 2, 3]);
    let zero: Vec<String> = (4..53).map(|_| "0".to_owned()).collect();
    fs::write(fake.0.join("task/7/stat"), format!("7 (x) S {}\n", zero.join(" "))).unwrap();
    assert_eq!(Process::new(&fake.0, false).read().unwrap().block_ns, None);
    assert_eq!(Process::new(&fake.0, true).read().unwrap().block_ns, Some(0));
}

#[test]
fn this_process_is_read() {
    let account = Process::new(Path::new("/proc/self"), false).read().unwrap();
    assert!(account.threads >= 1 && account.started > 0 && account.resident_bytes > Some(0));
}
