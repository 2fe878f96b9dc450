//! The names of tasks (prctl(2), PR_SET_NAME), as the kernel reports them of tasks that name themselves or
//! execute a program.
//!
//! A forked task has the name of its parent, which the kernel does not repeat.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::parse::KernelEvent;
use super::record::Task;
use crate::source::process::thread_ids;

/// The largest number of tasks that are named.
const MOST: usize = 1 << 18;

/// The names of tasks by their numbers, and whether each has ended: then another task may get its number.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Names(BTreeMap<Task, (String, bool)>);

impl Names {
    /// Update the names by an event of the kernel; events must come in order of time.
    pub fn update(&mut self, event: &KernelEvent) {
        match *event {
            KernelEvent::Renamed { task, name, .. } => {
                let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
                self.put(task, String::from_utf8_lossy(&name[..end]).into_owned());
            }
            KernelEvent::Fork { child: (_, child), parent, .. } => {
                let named = |task: i32| u32::try_from(task).ok().and_then(|task| self.0.get(&task));
                // Records of two CPUs at one moment may come in any order.
                if named(child).is_none_or(|(_, ended)| *ended) {
                    if let Some((name, _)) = named(parent).cloned() {
                        self.put(child, name);
                    }
                }
            }
            KernelEvent::Exit { task, .. } => {
                if let Some(known) = u32::try_from(task).ok().and_then(|task| self.0.get_mut(&task)) {
                    known.1 = true;
                }
            }
            _ => {}
        }
    }

    /// Look up the threads of a running process, by its directory in /proc.
    pub fn look_up(&mut self, directory: &Path) {
        for task in thread_ids(directory).unwrap_or_default() {
            if let Ok(name) = fs::read(directory.join(format!("task/{task}/comm"))) {
                let name = name.strip_suffix(b"\n").unwrap_or(&name);
                self.put(task, String::from_utf8_lossy(name).into_owned());
            }
        }
    }

    /// Return all names.
    pub fn all(&self) -> BTreeMap<Task, String> {
        self.0.iter().map(|(task, (name, _))| (*task, name.clone())).collect()
    }

    fn put(&mut self, task: i32, name: String) {
        match u32::try_from(task) {
            Ok(task)
                if task > 0 && !name.is_empty() && (self.0.len() < MOST || self.0.contains_key(&task)) =>
            {
                self.0.insert(task, (name, false));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::Comm;
    use super::*;

    fn named(task: i32, name: &str) -> KernelEvent {
        let mut comm = Comm::default();
        comm[..name.len()].copy_from_slice(name.as_bytes());
        KernelEvent::Renamed { time_ns: 1, task, name: comm, executes: false }
    }

    fn fork(parent: i32, child: i32) -> KernelEvent {
        KernelEvent::Fork { time_ns: 1, child: (child, child), parent }
    }

    fn names_after(events: &[KernelEvent]) -> Vec<(Task, String)> {
        let mut names = Names::default();
        events.iter().for_each(|event| names.update(event));
        names.all().into_iter().collect()
    }

    fn are(names: &[(Task, &str)]) -> Vec<(Task, String)> {
        names.iter().map(|(task, name)| (*task, (*name).to_owned())).collect()
    }

    #[test]
    fn a_child_has_the_name_of_its_parent_until_it_has_one_of_its_own() {
        let events = [named(7, "sh"), fork(7, 8), fork(7, 9), fork(5, 6), named(9, "a-name-of-16-cha")];
        assert_eq!(names_after(&events), are(&[(7, "sh"), (8, "sh"), (9, "a-name-of-16-cha")]));
        assert_eq!(names_after(&[named(-1, "nobody"), named(0, "swapper"), named(3, "")]), []);
        assert_eq!(
            names_after(&[named(7, "sh"), named(8, "sleep"), fork(7, 8)]),
            are(&[(7, "sh"), (8, "sleep")])
        );
    }

    #[test]
    fn the_number_of_a_task_that_has_ended_may_be_that_of_another() {
        let exit = KernelEvent::Exit { time_ns: 2, task: 8 };
        let events = [named(7, "sh"), named(8, "sleep"), exit];
        assert_eq!(names_after(&events), are(&[(7, "sh"), (8, "sleep")]), "it is still called so");
        assert_eq!(names_after(&[&events[..], &[fork(7, 8)]].concat()), are(&[(7, "sh"), (8, "sh")]));
    }

    #[test]
    fn threads_of_a_process_that_runs_are_looked_up() {
        let mut names = Names::default();
        names.look_up(&Path::new("/proc").join(std::process::id().to_string()));
        names.look_up(Path::new("/proc/none"));
        // SAFETY: takes no arguments.
        let own = unsafe { libc::gettid() } as u32;
        let name = fs::read_to_string("/proc/thread-self/comm").unwrap();
        assert_eq!(names.all().get(&own).map(String::as_str), Some(name.trim_end()));
    }
}
