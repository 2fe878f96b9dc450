//! Tasks that the kernel moves or gives other CPUs when theirs are taken: found just before that, since tasks
//! come and go.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::cpus::{self, Cpus};
use super::cpuset;
use super::member;
use super::pid_stat::PidStat;
use super::place::Place;
use super::task::{self, active_affinity, allowed, start_and_state};
use super::tree::Tree;

/// Return the tasks in cpusets of v1 that have no CPU without `offline`: the kernel moves them to a set above
/// (remove_tasks_in_empty_cpuset in kernel/cgroup/cpuset-v1.c) and not back.
pub fn members(tree: &Tree, offline: &Cpus) -> Vec<Place> {
    if offline.is_empty() || cpuset::version(tree) != Ok(1) {
        return Vec::new();
    }
    let emptied = cpuset::others(tree).into_iter().filter(|(_, cpus)| cpus.is_subset(offline));
    let tasks = emptied.flat_map(|(path, _)| member::tasks_of(tree, &path));
    let place = |tid| start_and_state(tree, tid).map(|(start, _)| Place::Member { tid, start });
    tasks.filter_map(place).collect()
}

/// Return the tasks that may run on some of the CPUs that are taken, but not on all that are online: the
/// kernel gives them others and, up to 6.1, forgets the CPUs that they had.
pub fn bound_tasks(tree: &Tree, taken: &Cpus) -> Vec<Place> {
    let mut found = Vec::new();
    if taken.is_empty() {
        return found;
    }
    let (_, online) = tree.cpus();
    // This reads a thousand tasks between two runs, so it makes one system call for each instead of reading a
    // file, where both return the same.
    let short = tree.live && taken.is_subset(&online);
    for pid in tree.numbered("/proc", "") {
        for tid in threads(tree, pid) {
            let asked = if short { active_affinity(tid) } else { None };
            let Some(allowed) = asked.or_else(|| allowed_to(tree, tid)) else { continue };
            let loses = allowed.intersection(taken).next().is_some();
            if allowed.is_superset(&online) || !loses || moves_by_itself(tree, tid) {
                continue;
            }
            if let Some((start, _)) = start_and_state(tree, tid) {
                found.push(Place::Affinity { tid, start });
            }
        }
    }
    found
}

/// Return the CPUs that a task may use, offline ones too; an empty set if its file does not list them, None
/// if it has ended.
fn allowed_to(tree: &Tree, tid: i32) -> Option<Cpus> {
    let text = tree.read(&format!("/proc/{tid}/status")).ok()?;
    Some(allowed(&text).and_then(cpus::parse).unwrap_or_default())
}

/// Return the threads of a process. Most processes have one, and their directories need not be read: the
/// count of links of a directory is the number of threads plus two (proc_task_getattr in fs/proc/base.c).
fn threads(tree: &Tree, pid: u32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task");
    if tree.live && fs::metadata(&path).is_ok_and(|about| about.nlink() == 3) {
        return vec![pid as i32];
    }
    task::threads(tree, pid)
}

/// Return whether the kernel itself has bound the task and moves it: PF_NO_SETAFFINITY
/// (include/linux/sched.h) in the flags of proc(5), stat, field 9; or whether it is the thread of an
/// interrupt, which follows that when it next wakes (irq_thread_check_affinity in kernel/irq/manage.c).
fn moves_by_itself(tree: &Tree, tid: i32) -> bool {
    const PF_NO_SETAFFINITY: u64 = 0x0400_0000;
    const PF_KTHREAD: u64 = 0x0020_0000;
    let Ok(text) = tree.read(&format!("/proc/{tid}/stat")) else { return true };
    let Some(stat) = PidStat::parse(text.as_bytes()) else { return true };
    let has = |flag| stat.at(9).is_none_or(|flags: u64| flags & flag != 0);
    has(PF_NO_SETAFFINITY) || (has(PF_KTHREAD) && text.contains("(irq/"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn affinity_from_system_calls_equals_the_files() {
        let tree = Tree::new(Path::new("/"));
        let me = std::process::id();
        let (sender, tid) = std::sync::mpsc::channel();
        let (come, go) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            // SAFETY: no arguments.
            sender.send(unsafe { libc::gettid() }).unwrap();
            assert!(go.recv().is_err());
        });
        // These two stay; other tests have threads that come and go.
        let mine = [me as i32, tid.recv().unwrap()];
        let found = threads(&tree, me);
        assert!(mine.iter().all(|tid| found.contains(tid)), "of several threads: {found:?}");
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let alone = threads(&tree, child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(alone, [child.id() as i32], "of one thread");
        let (_, online) = tree.cpus();
        for tid in mine {
            let expected: Cpus = allowed_to(&tree, tid).unwrap().intersection(&online).copied().collect();
            assert_eq!(active_affinity(tid), Some(expected));
        }
        drop(come);
        other.join().unwrap();
    }

    #[test]
    fn nobody_loses_cpus_that_are_not_taken() {
        assert!(bound_tasks(&Tree::new(Path::new("/")), &Cpus::new()).is_empty());
    }
}
