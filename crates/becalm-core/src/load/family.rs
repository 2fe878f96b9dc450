//! The ended tasks that belonged to a run: the leader, its threads, and all descendants.
//!
//! The kernel reports each end with the parent's number. A parent usually ends after its children, and an
//! orphan becomes a child of this process as its nearest subreaper, so at the end of a run all ends can be
//! assigned. For a run with very many ends that is also done on the way, with the help of the parents that
//! still live.

use std::collections::{HashMap, HashSet};
use std::fs;

use crate::source::delays::Delays;
use crate::source::pid_stat::PidStat;
use crate::source::taskstats::Task;

/// The largest number of ends that are stored: unassigned ones beyond it are lost.
const MOST: usize = 1 << 16;

/// The number of ends from which on looking for living parents is worth its cost.
const MANY: usize = 1 << 12;

/// The kernel's record of a process when the last of its threads so far had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Its age, ns.
    pub lived_ns: u64,
    /// The account of that thread.
    pub delays: Delays,
    /// Whether its threads are known to be its own: otherwise others may have ended later.
    pub whole: bool,
}

/// The ends of tasks during one run.
pub struct Family {
    own: u32,
    /// The ends of its child processes.
    endings: HashMap<u32, Ending>,
    ours: HashSet<u32>,
    waiting: Vec<Task>,
    sum: Delays,
    tasks: u64,
    lost: u64,
}

impl Family {
    /// Create a family below this process, whose number is `own`.
    pub fn new(own: u32) -> Self {
        let (endings, ours, waiting) = (HashMap::new(), HashSet::new(), Vec::new());
        Self { own, endings, ours, waiting, sum: Delays::ZERO, tasks: 0, lost: 0 }
    }

    /// Hand over the tasks that ended during the last run and do not belong to it, after `finish`.
    pub fn strangers(&mut self) -> impl Iterator<Item = Task> + '_ {
        self.waiting.drain(..)
    }

    /// Begin a run: nothing has ended yet.
    pub fn begin(&mut self) {
        self.endings.clear();
        self.ours.clear();
        self.waiting.clear();
        (self.sum, self.tasks, self.lost) = (Delays::ZERO, 0, 0);
    }

    /// Add a task that has ended.
    pub fn ended(&mut self, task: Task) {
        if self.waiting.len() >= MOST {
            self.lost += 1;
            return;
        }
        if task.parent == self.own {
            let whole = task.process.is_some();
            let ending = Ending { lived_ns: task.lived_ns, delays: task.delays, whole };
            let last = self.endings.entry(task.process.unwrap_or(task.pid)).or_insert(ending);
            if ending.lived_ns > last.lived_ns {
                *last = ending;
            }
        }
        self.waiting.push(task);
    }

    /// Return how the process `leader` ended, after `finish`; None if the kernel did not report that, or a
    /// later end of one of its threads may be missing.
    pub fn ending(&self, leader: u32) -> Option<Ending> {
        let ending = self.endings.get(&leader).filter(|ending| ending.whole || self.tasks == 0)?;
        (self.lost == 0).then_some(*ending)
    }

    /// Register that the kernel had to drop ends, `times` times.
    pub fn dropped(&mut self, times: u64) {
        self.lost += times;
    }

    /// Make room while a run goes on, with the help of living parents.
    pub fn sort(&mut self) {
        if self.waiting.len() < MANY {
            return;
        }
        let strangers: HashSet<u32> = {
            let parents: HashSet<u32> = self.waiting.iter().map(|task| task.parent).collect();
            let mut strangers = HashSet::new();
            for parent in parents {
                match self.descends(parent) {
                    Some(true) => drop(self.ours.insert(parent)),
                    Some(false) => drop(strangers.insert(parent)),
                    None => {}
                }
            }
            strangers
        };
        self.settle();
        self.waiting.retain(|task| !strangers.contains(&task.parent));
    }

    /// Add another program that runs at the same time and whose leader does not descend from the first one's.
    /// Its descendants are counted with those of the leader that `finish` names first.
    pub fn alongside(&mut self, leader: u32) {
        self.waiting.retain(|task| task.pid != leader);
        self.ours.insert(leader);
    }

    /// Count the remaining ends for the second of two programs that ran at the same time.
    pub fn next(&mut self) {
        (self.sum, self.tasks) = (Delays::ZERO, 0);
    }

    /// End the run: return the sum over its tasks except the leader, their number with it, and how many were
    /// lost.
    pub fn finish(&mut self, leader: u32) -> (Delays, u64, u64) {
        self.waiting.retain(|task| task.pid != leader);
        self.ours.insert(leader);
        self.settle();
        (self.sum, self.tasks + 1, self.lost)
    }

    /// Count those whose parents belong to the run, the latest first, until no more are found.
    fn settle(&mut self) {
        loop {
            let before = self.tasks;
            let Self { own, ours, waiting, sum, tasks, .. } = self;
            let mut left = Vec::with_capacity(waiting.len());
            while let Some(task) = waiting.pop() {
                if task.parent == *own || ours.contains(&task.parent) {
                    ours.insert(task.pid);
                    sum.add(&task.delays);
                    *tasks += 1;
                } else {
                    left.push(task);
                }
            }
            left.reverse();
            *waiting = left;
            if self.tasks == before {
                return;
            }
        }
    }

    /// Return whether a living process descends from this one; None when it has gone.
    fn descends(&self, mut pid: u32) -> Option<bool> {
        loop {
            if pid == self.own || self.ours.contains(&pid) {
                return Some(true);
            }
            if pid <= 1 {
                return Some(false);
            }
            let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
            pid = u32::try_from(PidStat::parse(&text)?.at(4)?).ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: u32, parent: u32) -> Task {
        let delays = Delays([Some(u64::from(pid)); 9]);
        Task { pid, parent, runs: 1, delays, process: None, lived_ns: 1000 * u64::from(pid), name: [0; 16] }
    }

    fn thread(pid: u32, process: u32, lived_ns: u64) -> Task {
        Task { process: Some(process), lived_ns, ..task(pid, 10) }
    }

    #[test]
    fn a_process_ends_with_the_last_of_its_threads() {
        let mut family = Family::new(10);
        family.begin();
        for ended in
            [thread(101, 100, 5000), thread(100, 100, 9000), thread(102, 100, 7000), thread(7, 7, 99_000)]
        {
            family.ended(ended);
        }
        family.finish(100);
        let ending = family.ending(100).unwrap();
        assert_eq!((ending.lived_ns, ending.delays.value("exec_ns"), ending.whole), (9000, Some(100), true));
        assert_eq!(family.ending(300), None);
        family.dropped(1);
        assert_eq!(family.ending(100), None, "the last end may be among those that were dropped");
        family.begin();
        assert_eq!(family.ending(100), None);
    }

    #[test]
    fn programs_that_run_at_the_same_time_are_counted_once() {
        let mut family = Family::new(10);
        family.begin();
        for ended in [task(100, 10), task(200, 10), task(101, 100), task(201, 200), task(7, 6)] {
            family.ended(ended);
        }
        family.alongside(200);
        let (sum, tasks, lost) = family.finish(100);
        assert_eq!((sum.value("exec_ns"), tasks, lost), (Some(101 + 201), 3, 0));
        family.next();
        let (sum, tasks, _) = family.finish(200);
        assert_eq!((sum.value("exec_ns"), tasks), (Some(0), 1));
    }

    #[test]
    fn without_the_process_of_threads_only_that_of_a_single_one_is_known() {
        let mut family = Family::new(10);
        family.begin();
        family.ended(task(100, 10));
        family.finish(100);
        assert_eq!(family.ending(100).map(|ending| ending.lived_ns), Some(100_000));
        family.begin();
        family.ended(task(100, 10));
        family.ended(task(101, 10));
        family.finish(100);
        assert_eq!(family.ending(100), None);
    }

    #[test]
    fn descendants_are_summed_and_strangers_are_not() {
        let mut family = Family::new(10);
        family.begin();
        // A grandchild, a stranger, its child, the child, a thread of the leader, an orphan, the leader.
        for (pid, parent) in [(300, 200), (7, 5), (8, 7), (200, 100), (101, 10), (400, 10), (100, 10)] {
            family.ended(task(pid, parent));
        }
        let (sum, tasks, lost) = family.finish(100);
        assert_eq!((tasks, lost), (5, 0));
        assert_eq!(sum.value("wait_ns"), Some(300 + 200 + 101 + 400));
        let mut strangers: Vec<u32> = family.strangers().map(|task| task.pid).collect();
        strangers.sort_unstable();
        assert_eq!(strangers, [7, 8]);
        family.begin();
        assert_eq!(family.finish(100), (Delays::ZERO, 1, 0));
    }

    #[test]
    fn parents_that_end_before_their_children_are_found_too() {
        let mut family = Family::new(10);
        family.begin();
        for (pid, parent) in [(100, 10), (200, 100), (300, 200), (400, 300)] {
            family.ended(task(pid, parent));
        }
        assert_eq!(family.finish(100).1, 4);
    }

    #[test]
    fn very_many_ends_are_put_in_their_places_on_the_way() {
        let own = std::process::id();
        let mut family = Family::new(own);
        family.begin();
        for number in 0..MANY as u32 {
            // Process 1 lives and does not descend from this process.
            family.ended(task(1_000_000 + 2 * number, own));
            family.ended(task(1_000_001 + 2 * number, 1));
        }
        family.sort();
        assert!(family.waiting.is_empty());
        for number in 0..=MOST as u32 {
            family.ended(task(number, 4_000_000_000));
        }
        family.sort();
        assert_eq!(family.waiting.len(), MOST, "the ends of their parents may still arrive");
        let (_, tasks, lost) = family.finish(99);
        assert_eq!((tasks, lost), (MANY as u64 + 1, 1));
    }
}
