//! Which cpuset of v1 a task is in, and putting it back there (cpuset(7)).
//!
//! A set whose last CPU goes offline cannot hold a task: the kernel moves its tasks to the nearest set above that has one
//! (remove_tasks_in_empty_cpuset in kernel/cgroup/cpuset-v1.c), and when the CPU comes back it leaves them there.

use std::collections::BTreeSet;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::cpus::{self, Cpus};
use super::cpuset::{others, tasks, V1};
use super::task::{allowed, play_affinity};
use super::tree::Tree;

/// How long the kernel may take to move tasks out of an empty set, ms. On an idle machine one is enough.
const FALL_MS: u32 = 500;

/// The set that a task is in, as a path below the hierarchy's root: "/" or "/docker/one" (proc_pid_cgroup(5)).
pub fn of_task(tree: &Tree, tid: i32) -> io::Result<String> {
    let text = tree.read(&format!("/proc/{tid}/cgroup"))?;
    let set = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == "cpuset").then(|| path.to_owned())
    };
    let found = text.lines().find_map(set).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODATA))?;
    match found.split('/').any(|name| name == "..") {
        // Outside of the namespace in which this process sees groups: there is no path to it.
        true => Err(io::Error::from_raw_os_error(libc::EXDEV)),
        false => Ok(found),
    }
}

/// Put a task into a set.
pub fn join(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    if !tree.live {
        return played_join(tree, tid, set);
    }
    match tree.write(&task_file(set), &tid.to_string()) {
        // It has ended.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        done => done,
    }
}

/// Whether one set is above another.
pub fn is_above(one: &str, other: &str) -> bool {
    one != other && (one == "/" || other.strip_prefix(one).is_some_and(|rest| rest.starts_with('/')))
}

/// The tasks of the set whose CPUs this file holds.
pub fn tasks_of(tree: &Tree, cpus_file: &str) -> Vec<i32> {
    let set = cpus_file.trim_end_matches("/cpuset.cpus");
    tasks(tree, set, 1).iter().filter_map(|task| task.parse().ok()).collect()
}

/// Wait until the kernel has emptied the sets of these tasks that have no CPU. It does that a little after the CPU has gone
/// (cpuset_migrate_tasks_workfn, from 6.10 on), whether the CPU is back by then or not: who put the tasks back before
/// would see them fall out again.
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

fn task_file(set: &str) -> String {
    format!("{V1}{}/tasks", set.trim_end_matches('/'))
}

/// On a directory: out of one list, into another, and the task's own files. The kernel does that at once, we file by
/// file and may be killed between two of them: until all is done the task's own file, which restorers go by, says that
/// it still has to come.
fn played_join(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    let from = of_task(tree, tid)?;
    listed(tree, tid, &from, set)?;
    belongs(tree, tid, set)
}

/// On a directory: a task falls out of its set. Its own file says so first, so that a restorer brings it back wherever
/// this is cut off.
fn played_fall(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    let from = of_task(tree, tid)?;
    belongs(tree, tid, set)?;
    listed(tree, tid, &from, set)
}

/// Write into the task's own file which set it is in.
fn belongs(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    lines(tree, &format!("/proc/{tid}/cgroup"), |line| !line.contains(":cpuset:"), &format!("1:cpuset:{set}"))
}

/// Move a task from the list of one set to that of another. It may use the CPUs of the set then, and in the root set all
/// that there may ever be (cpuset_attach in kernel/cgroup/cpuset.c).
fn listed(tree: &Tree, tid: i32, from: &str, set: &str) -> io::Result<()> {
    let cpus = match set {
        "/" => cpus::list(&tree.cpus().0),
        set => tree.read(&format!("{V1}{set}/cpuset.cpus"))?,
    };
    if cpus.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    let word = tid.to_string();
    lines(tree, &task_file(from), |line| line != word, "")?;
    lines(tree, &task_file(set), |line| line != word, &word)?;
    play_affinity(tree, tid, &cpus)
}

/// Keep some lines of a file and add one, or none; as the kernel lists tasks.
fn lines(tree: &Tree, file: &str, keep: impl Fn(&str) -> bool, more: &str) -> io::Result<()> {
    let text = tree.read(file)?;
    let mut kept: Vec<&str> =
        text.lines().filter(|line| keep(line)).chain((!more.is_empty()).then_some(more)).collect();
    kept.sort_by_key(|line| line.parse::<i32>().unwrap_or_default());
    tree.replace(file, kept.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes())
}

/// On a directory: what becomes of sets and tasks when only these CPUs are left.
pub fn played_offline(tree: &Tree, online: &Cpus) -> io::Result<()> {
    for pid in tree.numbered("/proc", "") {
        let status = tree.read(&format!("/proc/{pid}/status")).unwrap_or_default();
        let bound = allowed(&status).and_then(cpus::parse).unwrap_or_default();
        if !bound.is_empty() && bound.is_disjoint(online) {
            // select_fallback_rq in kernel/sched/core.c.
            play_affinity(tree, pid as i32, &cpus::list(&tree.cpus().0))?;
        }
    }
    for (file, held) in others(tree).into_iter().rev() {
        let left: Cpus = held.intersection(online).copied().collect();
        if left == held {
            continue;
        }
        tree.replace(&file, format!("{}\n", cpus::list(&left)).as_bytes())?;
        if left.is_empty() {
            let set = file.trim_start_matches(V1).trim_end_matches("/cpuset.cpus").to_owned();
            let above = set.rsplit_once('/').map_or("", |(above, _)| above);
            let above = if above.is_empty() { "/" } else { above };
            for tid in tasks_of(tree, &file) {
                played_fall(tree, tid, above)?;
            }
        }
    }
    Ok(())
}
