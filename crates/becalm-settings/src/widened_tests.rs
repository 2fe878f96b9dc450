//! Tests on directories: CPUs that are offline, CPUs that came back, and the CPUs that a task reads as then.

use std::fs;

use super::*;

/// A directory with four CPUs and a task, which is removed with its value.
struct Machine(std::path::PathBuf);

impl Machine {
    fn new(name: &str, group: &str) -> Machine {
        let root = std::env::temp_dir().join(format!("becalm-widened-{name}-{}", std::process::id()));
        let root = fs::create_dir_all(&root).and_then(|()| root.canonicalize()).unwrap();
        let machine = Machine(root);
        for cpu in 0..4 {
            fs::create_dir_all(machine.0.join(format!("sys/devices/system/cpu/cpu{cpu}/topology"))).unwrap();
            machine.put(&format!("sys/devices/system/cpu/cpu{cpu}/online"), "1");
        }
        machine.put("sys/devices/system/cpu/possible", "0-7");
        machine.put("proc/9/cgroup", group);
        machine
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// Return whether `now` may be what the kernel made of `ours`.
    fn explains(&self, ours: &[&str], newest: u64, now: &str) -> bool {
        let tree = Tree::new(&self.0);
        let ours = ours.iter().map(|list| set(list)).collect();
        Widened::of(&tree, &ours, newest).explains(&tree, 9, &set(now), &set("4"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn set(list: &str) -> Cpus {
    cpus::parse(list).unwrap()
}

#[test]
fn a_choice_is_the_kernels_only_while_cpus_of_ours_are_offline() {
    let machine = Machine::new("offline", "0::/");
    assert!(!machine.explains(&["3"], 0, "0-7"), "all are online");
    machine.put("sys/devices/system/cpu/cpu2/online", "0");
    assert!(!machine.explains(&["3"], 0, "0-7"), "another one is offline");
    machine.put("sys/devices/system/cpu/cpu3/online", "0");
    assert!(machine.explains(&["3"], 0, "0-7"));
    for chosen in ["0-3", "0-1", "0", "3"] {
        assert!(!machine.explains(&["3"], 0, chosen), "{chosen} is no fallback");
    }
    assert!(machine.explains(&["1,3"], 0, "1"), "what is left of ours");
    assert!(!machine.explains(&["1,3"], 0, "0-7"), "one is left, so it was not widened");
}

#[test]
fn one_that_was_offline_since_has_a_newer_directory() {
    let machine = Machine::new("back", "0::/");
    let tree = Tree::new(&machine.0);
    let all = newest(&tree);
    assert!((0..4).all(|cpu| number(&tree, cpu).unwrap() <= all) && all > 0);
    assert!(!machine.explains(&["3"], all, "0-7"));
    assert!(machine.explains(&["3"], number(&tree, 3).unwrap() - 1, "0-7"));
    assert!(machine.explains(&["1,3"], 1, "1,3"), "both were, and are again");
    assert_eq!(newest(&Tree::new(std::path::Path::new("/nonexistent"))), 0);
}

#[test]
fn the_cpus_of_its_cpuset_are_a_fallback_and_those_of_others_are_not() {
    let machine = Machine::new("sets", "0::/a/b/c");
    machine.put("sys/devices/system/cpu/cpu3/online", "0");
    machine.put("sys/fs/cgroup/cpuset.cpus.effective", "0-2");
    machine.put("sys/fs/cgroup/a/b/cpuset.cpus", "1-3");
    machine.put("sys/fs/cgroup/a/b/cpuset.cpus.effective", "1-2");
    for (now, kernels) in [("1-3", true), ("1-2", true), ("0-7", true), ("0-2", false)] {
        assert_eq!(machine.explains(&["3"], 0, now), kernels, "{now}");
    }
    machine.put("proc/9/cgroup", "1:cpuset:/x\n0::/a");
    machine.put("sys/fs/cgroup/cpuset/x/cpuset.cpus", "0,2-3");
    machine.put("sys/fs/cgroup/cpuset/x/cpuset.effective_cpus", "0,2");
    for (now, kernels) in [("0,2-3", true), ("0,2", true), ("1-2", false)] {
        assert_eq!(machine.explains(&["3"], 0, now), kernels, "version 1, {now}");
    }
    machine.put("proc/9/cgroup", "0::/../elsewhere");
    assert!(
        machine.explains(&["3"], 0, "0-7") && !machine.explains(&["3"], 0, "0-2"),
        "outside of the namespace"
    );
}

#[test]
fn restored_cpus_are_the_online_ones_and_missing_cpus_are_reported() {
    let machine = Machine::new("short", "0::/");
    let tree = Tree::new(&machine.0);
    let ours = BTreeSet::from([set("3")]);
    machine.put("sys/devices/system/cpu/cpu3/online", "0");
    machine.put("sys/fs/cgroup/cpuset.cpus.effective", "0-2");
    let widened = Widened::of(&tree, &ours, 0);
    assert!(
        widened.explains(&tree, 9, &set("2"), &set("2-3"))
            && !widened.explains(&tree, 9, &set("1"), &set("2-3"))
    );
    let why = widened.short(&tree, 9, &set("2-3"), &set("2")).unwrap();
    assert!(why.starts_with("of the CPUs 2-3, 3 are offline"), "{why}");
    assert!(
        widened.short(&tree, 9, &set("1-2"), &set("2")).is_none(),
        "1 is online: something else keeps it from it"
    );
    assert!(!widened.remembered(&tree, 9));
    machine.put("sys/fs/cgroup/cpuset.cpus", "");
    assert!(
        widened.short(&tree, 9, &set("2-3"), &set("2")).is_none(),
        "a cpuset below the root gets its CPU back"
    );
    assert!(widened.remembered(&tree, 9));
    machine.put("proc/9/cgroup", "1:cpuset:/");
    assert!(widened.short(&tree, 9, &set("2-3"), &set("2")).is_some(), "the root of version 1 has that file");
}
