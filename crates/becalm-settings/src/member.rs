//! The cpuset (v1) of a task, and how it is restored (cpuset(7)).
//!
//! A set whose last CPU goes offline cannot hold a task: the kernel moves its tasks to the nearest set above that has one
//! (remove_tasks_in_empty_cpuset in kernel/cgroup/cpuset-v1.c), and when the CPU comes back it leaves them there.

use std::collections::BTreeSet;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::cpuset::{tasks, V1};
use super::tree::Tree;

/// Time that the kernel may take to move tasks out of an empty set, ms. An idle machine takes one.
const FALL_MS: u32 = 500;

/// Return the set that a task is in, as a path below the hierarchy's root: "/" or "/docker/one"
/// (proc_pid_cgroup(5)).
pub fn of_task(tree: &Tree, tid: i32) -> io::Result<String> {
    let text = tree.read(&format!("/proc/{tid}/cgroup"))?;
    let set = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == "cpuset").then(|| path.to_owned())
    };
    let found = text.lines().find_map(set).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODATA))?;
    match found.split('/').any(|name| name == "..") {
        // The task is outside of the namespace in which this process sees groups: there is no path to its
        // set.
        true => Err(io::Error::from_raw_os_error(libc::EXDEV)),
        false => Ok(found),
    }
}

/// Put a task into a set.
pub fn join(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    match tree.write(&task_file(set), &tid.to_string()) {
        // The task has ended.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        done => done,
    }
}

/// Return whether one set is above another.
pub fn is_above(one: &str, other: &str) -> bool {
    one != other && (one == "/" || other.strip_prefix(one).is_some_and(|rest| rest.starts_with('/')))
}

/// Return the tasks of the set whose CPUs this file holds.
pub fn tasks_of(tree: &Tree, cpus_file: &str) -> Vec<i32> {
    let set = cpus_file.trim_end_matches("/cpuset.cpus");
    tasks(tree, set, 1).iter().filter_map(|task| task.parse().ok()).collect()
}

/// Wait until the kernel has emptied those sets of these tasks that have no CPU. It does that shortly after
/// the CPU has gone (cpuset_migrate_tasks_workfn, from 6.10 on), even if the CPU is back by then: tasks that
/// are restored earlier would fall out again.
pub fn wait_for_emptied<'a>(tree: &Tree, sets: impl Iterator<Item = &'a str>) {
    let sets: BTreeSet<&str> = sets.collect();
    let falling = |set: &&str| {
        let cpus = tree.read(&format!("{V1}{set}/cpuset.cpus"));
        cpus.is_ok_and(|cpus| cpus.is_empty()) && !tasks(tree, &format!("{V1}{set}"), 1).is_empty()
    };
    for _ in 0..FALL_MS {
        if !sets.iter().any(falling) {
            return;
        }
        sleep(Duration::from_millis(1));
    }
}

pub fn task_file(set: &str) -> String {
    format!("{V1}{}/tasks", set.trim_end_matches('/'))
}
