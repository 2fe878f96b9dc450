//! Tests on a directory that looks like /proc: two processes, one of which has threads and children.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::entry::Entry;
use super::super::place::Place;
use super::super::restore::{restore, Fate};
use super::*;

fn set(list: &str) -> Cpus {
    cpus::parse(list).unwrap()
}

/// A directory that is removed with its value.
struct Played(PathBuf);

impl Played {
    fn new(name: &str) -> Played {
        let root = std::env::temp_dir().join(format!("becalm-threads-{name}-{}", std::process::id()));
        let root = fs::create_dir_all(&root).and_then(|()| root.canonicalize()).unwrap();
        fs::create_dir_all(root.join("run")).unwrap();
        Played(root)
    }

    fn tree(&self) -> Tree {
        Tree::new(&self.0)
    }

    /// Add a task of a process, with its parent, start time and CPUs.
    fn task(&self, process: i32, tid: i32, parent: i32, start: u64, cpus: &str) {
        let stat = format!("{tid} (a name) S {parent} {} {start} 0 0\n", "0 ".repeat(17).trim());
        assert_eq!(PidStat::parse(stat.as_bytes()).unwrap().at(22), Some(start));
        for place in [format!("proc/{tid}"), format!("proc/{process}/task/{tid}")] {
            fs::create_dir_all(self.0.join(&place)).unwrap();
            fs::write(self.0.join(&place).join("stat"), &stat).unwrap();
        }
        fs::write(
            self.0.join(format!("proc/{tid}/status")),
            format!("Name:\ta name\nCpus_allowed_list:\t{cpus}\n"),
        )
        .unwrap();
    }

    fn cpus(&self, tid: i32, start: u64) -> String {
        affinity(&self.tree(), tid, start).unwrap()
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn masks_are_parsed_as_they_are_spelled() {
    let others = BTreeMap::from([((8, 5), set("1")), ((9, 6), set("0,2"))]);
    let masks = Masks { main: set("0-3"), others };
    assert_eq!(masks.spelled(), "0-3;8@5=1;9@6=0,2");
    assert_eq!(Masks::parse(&masks.spelled()), Some(masks.clone()));
    for bad in ["", "x", "0;", "0;8=1", "0;8@5", "0;8@5=x"] {
        assert_eq!(Masks::parse(bad), None, "{bad:?}");
    }
    assert!(
        agree("0,1;8@5=1", "0-1;8@5=1") && agree("", "0-1") && !agree("0", "0-1") && !agree("0", "0;8@5=1")
    );
}

#[test]
fn every_thread_is_bound_and_gets_its_own_back_and_children_those_of_the_main_one() {
    let played = Played::new("whole");
    let tree = played.tree();
    played.task(1, 1, 0, 1, "0-3");
    played.task(10, 10, 1, 100, "0-3");
    played.task(10, 11, 1, 101, "2");
    played.task(20, 20, 10, 150, "1");
    let original = read(&tree, 10, 100).unwrap();
    assert_eq!(original, "0-3;11@101=2");
    write(&tree, 10, 100, "1").unwrap();
    assert_eq!(read(&tree, 10, 100).unwrap(), "1");
    assert_eq!(played.cpus(1, 1), "0-3");
    // Afterwards a thread starts, two children are forked, one of which has a child, and one child binds
    // itself.
    for (process, tid, parent, start, cpus) in
        [(10, 12, 1, 300, "1"), (21, 21, 10, 300, "1"), (22, 22, 21, 310, "1"), (23, 23, 10, 320, "3")]
    {
        played.task(process, tid, parent, start, cpus);
    }
    let place = Place::Threads { pid: 10, start: 100, name: "a name".to_owned() };
    let entry =
        Entry { ours: vec!["1".to_owned()], since: 200, ..Entry::new("process_cpus", place, original) };
    let outcome = &restore(&tree, std::slice::from_ref(&entry), false)[0];
    assert_eq!((outcome.fate, outcome.found.as_str()), (Fate::Restored, "0-3;11@101=2"));
    for (tid, start, cpus) in
        [(12, 300, "0-3"), (21, 300, "0-3"), (22, 310, "0-3"), (23, 320, "3"), (20, 150, "1")]
    {
        assert_eq!(played.cpus(tid, start), cpus, "{tid}");
    }
    assert_eq!(
        restore(&tree, std::slice::from_ref(&entry), false)[0].fate,
        Fate::Untouched,
        "a second time it is nothing"
    );
    // Somebody else's choice stays, and the other threads are still restored.
    write(&tree, 10, 100, "1").unwrap();
    set_affinity(&tree, 12, 300, "2").unwrap();
    assert_eq!(restore(&tree, std::slice::from_ref(&entry), false)[0].fate, Fate::Foreign);
    assert_eq!(
        (played.cpus(12, 300), played.cpus(10, 100), played.cpus(11, 101)),
        ("2".into(), "0-3".into(), "2".into())
    );
    assert_eq!(restore(&tree, std::slice::from_ref(&entry), true)[0].fate, Fate::Restored, "by force");
    assert_eq!(played.cpus(12, 300), "0-3");
    // A number that is used again is not a process of ours.
    write(&tree, 10, 100, "1").unwrap();
    played.task(10, 10, 1, 900, "1");
    assert_eq!(restore(&tree, &[entry], false)[0].fate, Fate::Gone);
    assert_eq!(played.cpus(10, 900), "1");
}

#[test]
fn one_that_has_ended_is_no_error_to_write_and_one_to_read() {
    let tree = Tree::new(Path::new("/nonexistent"));
    assert!(write(&tree, 10, 1, "0").is_ok());
    assert_eq!(read(&tree, 10, 1).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    assert_eq!(ticks(&tree), 0);
}

#[test]
fn cpus_that_the_kernel_widened_are_restored_and_chosen_ones_are_not() {
    let played = Played::new("widened");
    let tree = played.tree();
    for cpu in 0..4 {
        fs::create_dir_all(played.0.join(format!("sys/devices/system/cpu/cpu{cpu}"))).unwrap();
        fs::write(played.0.join(format!("sys/devices/system/cpu/cpu{cpu}/online")), "1\n").unwrap();
    }
    fs::write(played.0.join("sys/devices/system/cpu/possible"), "0-3\n").unwrap();
    // It was bound to 0-2, one of its threads to 2, and becalm has moved it to 3. It has forked since.
    for (process, tid, parent, start, cpus) in
        [(10, 10, 1, 100, "0-3"), (10, 11, 1, 101, "0-3"), (10, 12, 1, 102, "0-1"), (20, 20, 10, 300, "0-3")]
    {
        played.task(process, tid, parent, start, cpus);
    }
    let ours = ["3".to_owned()];
    let had = Had { original: "0-2;11@101=2", ours: &ours, since: 200, newest: 0 };
    let now = || [(10, 100), (11, 101), (12, 102), (20, 300)].map(|(tid, start)| played.cpus(tid, start));
    let nobody = restore_threads(&tree, 10, 100, had, false).unwrap();
    assert_eq!(
        nobody,
        Back { gone: false, changed: false, foreign: true },
        "nothing was offline: all are choices"
    );
    assert_eq!(now(), ["0-3", "0-3", "0-1", "0-3"]);
    fs::write(played.0.join("sys/devices/system/cpu/cpu3/online"), "0\n").unwrap();
    let done = restore_threads(&tree, 10, 100, had, false).unwrap();
    assert_eq!(done, Back { gone: false, changed: true, foreign: true }, "0-1 is nothing of the kernel's");
    assert_eq!(now(), ["0-2", "2", "0-1", "0-2"]);
    assert!(!restore_threads(&tree, 10, 100, had, true).unwrap().foreign);
    assert_eq!(now(), ["0-2", "2", "0-2", "0-2"]);
}
