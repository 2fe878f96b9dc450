//! CPUs that the kernel gives a task when its own go offline, as opposed to CPUs that somebody chose.
//!
//! A task that has lost all of its CPUs may run on all of its cpuset, or on all possible CPUs
//! (select_fallback_rq in kernel/sched/core.c, cpuset_cpus_allowed_fallback in kernel/cgroup/cpuset.c), and
//! still may when the CPUs come back. A task that still has some is limited to those, if its cpuset is not
//! the root (update_tasks_cpumask). Both look as if somebody had chosen them, so they are attributed to the
//! kernel only where CPUs of ours are offline, or have been since: a CPU that comes back gets a new directory
//! `topology` (drivers/base/topology.c), and the files of sysfs are numbered upwards (kernfs_new_node in
//! fs/kernfs/dir.c).

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use super::controller::V2;
use super::cpus::{self, Cpus};
use super::cpuset::V1;
use super::member;
use super::tree::{Tree, CPU};

/// Return the number of the newest directory of a CPU: those of CPUs that come back later are greater. 0:
/// there are none.
pub fn newest(tree: &Tree) -> u64 {
    tree.numbered(CPU, "cpu").into_iter().filter_map(|cpu| number(tree, cpu)).max().unwrap_or_default()
}

fn number(tree: &Tree, cpu: u32) -> Option<u64> {
    tree.about(&format!("{CPU}/cpu{cpu}/topology")).ok().map(|about| about.ino())
}

/// Masks of ours that the kernel may have changed, as some of their CPUs went offline.
#[derive(Debug)]
pub struct Widened<'a> {
    ours: &'a BTreeSet<Cpus>,
    online: Cpus,
    /// CPUs that are online, but were not all the time.
    back: Cpus,
}

impl<'a> Widened<'a> {
    /// Describe masks of ours. `newest` is its value when the masks were given; 0: not known, so only CPUs
    /// that are offline now count.
    pub fn of(tree: &Tree, ours: &'a BTreeSet<Cpus>, newest: u64) -> Self {
        let (_, online) = tree.cpus();
        let newer = |cpu: &&u32| newest > 0 && number(tree, **cpu).is_some_and(|number| number > newest);
        let back = online.iter().filter(newer).copied().collect();
        Self { ours, online, back }
    }

    fn stayed(&self, cpu: u32) -> bool {
        self.online.contains(&cpu) && !self.back.contains(&cpu)
    }

    /// Return whether the present CPUs of a task may be what the kernel made of ours, or of those that it is
    /// to have again.
    pub fn explains(&self, tree: &Tree, tid: i32, now: &Cpus, wanted: &Cpus) -> bool {
        let left = |mask: &Cpus| {
            let stayed: Cpus = mask.iter().copied().filter(|cpu| self.stayed(*cpu)).collect();
            stayed != *mask && (*now == stayed || now.iter().eq(mask.intersection(&self.online)))
        };
        let lost = |mask: &Cpus| mask.iter().all(|cpu| !self.stayed(*cpu));
        self.ours.iter().any(left)
            || left(wanted)
            || self.ours.iter().any(lost) && fallbacks(tree, tid).contains(now)
    }

    /// Return whether the kernel may remember our CPUs for a task that has its own: it may in a cpuset that
    /// is not the root.
    pub fn remembered(&self, tree: &Tree, tid: i32) -> bool {
        self.ours.iter().flatten().any(|cpu| !self.stayed(*cpu)) && !in_root(tree, tid)
    }

    /// Return why a task that was given its CPUs has fewer; None if the others come back by themselves.
    ///
    /// The kernel accepts no offline CPUs, except in the root set from 6.2 on (cpuset_cpus_allowed).
    /// Elsewhere it gives them back with the CPU: those that the task was last given, or before 6.2 all of
    /// the cpuset to all of its tasks.
    pub fn short(&self, tree: &Tree, tid: i32, wanted: &Cpus, took: &Cpus) -> Option<String> {
        let offline: Cpus =
            wanted.difference(took).filter(|cpu| !self.online.contains(cpu)).copied().collect();
        (!offline.is_empty() && in_root(tree, tid)).then(|| {
            format!(
                "of the CPUs {}, {} are offline, and this kernel gives only those that are online; when they are back, \
                 `becalm reset` gives the others, too",
                cpus::list(wanted),
                cpus::list(&offline)
            )
        })
    }
}

/// Return whether a task is in no cpuset except the root, which on version 2 has no file of CPUs.
fn in_root(tree: &Tree, tid: i32) -> bool {
    let Some((set, names)) = cpuset(tree, tid) else { return true };
    if set.starts_with(V1) {
        set == V1
    } else {
        !tree.exists(&format!("{set}/{}", names[0]))
    }
}

/// Return the sets that a task may get when it has lost all of its CPUs: all possible CPUs, or those of its
/// cpuset.
fn fallbacks(tree: &Tree, tid: i32) -> Vec<Cpus> {
    let files =
        cpuset(tree, tid).map(|(set, names)| names.map(|name| format!("{set}/{name}"))).into_iter().flatten();
    let all = std::iter::once(format!("{CPU}/possible")).chain(files);
    all.filter_map(|path| cpus::parse(&tree.read(&path).ok()?)).filter(|set| !set.is_empty()).collect()
}

/// Return the directory of a task's cpuset, and the names of its files of CPUs. On version 2 it is that of
/// the nearest group above which has them.
fn cpuset(tree: &Tree, tid: i32) -> Option<(String, [&'static str; 2])> {
    if let Ok(set) = member::of_task(tree, tid) {
        return Some((
            format!("{V1}{}", set.trim_end_matches('/')),
            ["cpuset.cpus", "cpuset.effective_cpus"],
        ));
    }
    let names = ["cpuset.cpus", "cpuset.cpus.effective"];
    let text = tree.read(&format!("/proc/{tid}/cgroup")).ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?.trim_end_matches('/');
    if path.split('/').any(|name| name == "..") {
        return None;
    }
    let mut above = path;
    loop {
        let set = format!("{V2}{above}");
        if tree.exists(&format!("{set}/{}", names[1])) {
            return Some((set, names));
        }
        above = above.rsplit_once('/')?.0;
    }
}

#[cfg(test)]
#[path = "widened_tests.rs"]
mod tests;
