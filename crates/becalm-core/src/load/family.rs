//! Which of the tasks that ended on the machine belonged to a run: the leader, its threads, and all descendants.
//!
//! The kernel tells each end with the parent's number. A parent usually ends after its children, and an orphan comes to
//! this process as its nearest subreaper, so at the end of a run all ends can be put in their places. For a run with very
//! many ends that is done on the way, too, with the help of the parents that still live.

use std::collections::HashSet;
use std::fs;

use crate::source::delays::Delays;
use crate::source::pid_stat::PidStat;
use crate::source::taskstats::Task;

/// More ends than these are not kept: those that nobody could be found for are lost.
const MOST: usize = 1 << 16;

/// From so many on it is worth looking for living parents.
const MANY: usize = 1 << 12;

/// The ends of tasks during one run.
pub struct Family {
    own: u32,
    ours: HashSet<u32>,
    waiting: Vec<Task>,
    sum: Delays,
    tasks: u64,
    lost: u64,
}

impl Family {
    /// A family below this process, whose number is `own`.
    pub fn new(own: u32) -> Self {
        let (ours, waiting) = (HashSet::new(), Vec::new());
        Self { own, ours, waiting, sum: Delays::ZERO, tasks: 0, lost: 0 }
    }

    /// Begin a run: nothing has ended yet.
    pub fn begin(&mut self) {
        self.ours.clear();
        self.waiting.clear();
        (self.sum, self.tasks, self.lost) = (Delays::ZERO, 0, 0);
    }

    /// A task has ended.
    pub fn ended(&mut self, task: Task) {
        if self.waiting.len() >= MOST {
            self.lost += 1;
            return;
        }
        self.waiting.push(task);
    }

    /// The kernel had to drop some.
    pub fn dropped(&mut self, times: u64) {
        self.lost += times;
    }

    /// While a run goes on: make room, with the help of living parents.
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

    /// The run is over: the sum over its tasks but the leader, how many there were with it, and how many were lost.
    pub fn finish(&mut self, leader: u32) -> (Delays, u64, u64) {
        self.waiting.retain(|task| task.pid != leader);
        self.ours.insert(leader);
        self.settle();
        (self.sum, self.tasks + 1, self.lost)
    }

    /// Count those whose parents are ours, the latest first, until none is found any more.
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

    /// Whether a living process descends from this one; None when it has gone.
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
        Task { pid, parent, runs: 1, delays: Delays([Some(u64::from(pid)); 9]) }
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
            // Process 1 lives and is no child of ours.
            family.ended(task(1_000_000 + 2 * number, own));
            family.ended(task(1_000_001 + 2 * number, 1));
        }
        family.sort();
        assert!(family.waiting.is_empty());
        for number in 0..=MOST as u32 {
            family.ended(task(number, 4_000_000_000));
        }
        family.sort();
        assert_eq!(family.waiting.len(), MOST, "parents that have gone may still be told");
        let (_, tasks, lost) = family.finish(99);
        assert_eq!((tasks, lost), (MANY as u64 + 1, 1));
    }
}
