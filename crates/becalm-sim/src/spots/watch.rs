//! The decision about a wanted move of a running process, made on its growing stream with the first window
//! that allows it.
//!
//! `wait` has the arithmetic, and decides about a complete stream of one task; `Watch` does the same for all
//! threads of a process, and keeps only what it needs. The counts of a process are the sum over its threads.
//! Windows of threads end at different times, so a wait is as long as the time known of all counting threads.
//! A sweet spot of a thread is one of the process if the thread has made at least half of the process's
//! references so far, or if it executes another program: a thread that counts little has little in the
//! caches.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::detect::Marked;
use super::judge::Spot;
use super::program::Program;
use super::record::Task;
use super::wait::{share, Waiting, Why};
use super::window::{Counts, Window};

/// A wanted move of all threads of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub process: Task,
    pub at_ns: u64,
    /// Whether waiting is bounded by what it can save (d_min, d_max), which requires counts of a cache.
    /// Otherwise only the hard limit bounds it.
    #[serde(default = "yes")]
    pub bounded: bool,
    /// The types of sweet spots to wait for.
    #[serde(default = "all")]
    pub kinds: Vec<u8>,
}

fn yes() -> bool {
    true
}

fn all() -> Vec<u8> {
    vec![0, 1, 2]
}

/// The moment of a move, and the reason for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decided {
    pub process: Task,
    pub wanted_ns: u64,
    pub moved_ns: u64,
    pub why: Why,
    /// The longest worthwhile wait d_max at that moment.
    pub longest_ns: f64,
    /// The minimum d_min, if it was computed; otherwise 0.
    pub least_ns: f64,
    /// The counts of all threads since the move was wanted.
    pub counts: Counts,
    /// The sweet spot, if the move waits for one.
    pub spot: Option<Spot>,
    /// The task of the sweet spot.
    pub task: Option<Task>,
}

/// The state of a thread.
#[derive(Debug, Default)]
struct Thread {
    last: Option<Window>,
    total: Counts,
    over: bool,
}

/// The state of a process and its wanted move.
#[derive(Debug)]
pub struct Watch {
    waiting: Waiting,
    process: Task,
    threads: HashMap<usize, Thread>,
    wanted: Option<Wanted>,
    counts: Counts,
    least_ns: f64,
}

impl Watch {
    pub fn new(waiting: Waiting, process: Task) -> Self {
        Self {
            waiting,
            process,
            threads: HashMap::new(),
            wanted: None,
            counts: Counts::default(),
            least_ns: 0.0,
        }
    }

    /// Register a wanted move. It is decided at once if waiting cannot pay or no window is known.
    pub fn want(&mut self, wanted: Wanted) -> Option<Decided> {
        self.counts = Counts::default();
        self.least_ns = 0.0;
        let (at_ns, bounded) = (wanted.at_ns, wanted.bounded);
        self.wanted = Some(wanted);
        if !bounded {
            return None;
        }
        let short = self.waiting.short_ns as f64;
        let mut expected = None;
        for window in self.threads.values().filter(|each| !each.over).filter_map(|each| each.last) {
            let length = window.end_ns.saturating_sub(window.start_ns).max(1) as f64;
            *expected.get_or_insert(0.0) += self.waiting.longest_ns(window.own) * short / length;
        }
        let Some(least_ns) = expected else { return self.decided(at_ns, Why::Unknown, None) };
        self.least_ns = least_ns;
        if least_ns <= short {
            return self.decided(at_ns, Why::NotWorthWaiting, None);
        }
        None
    }

    /// Process the windows and sweet spots since the last call, in order, and return the decision if there is
    /// one.
    pub fn follow(&mut self, windows: &[Marked], spots: &[Spot], programs: &[Program]) -> Option<Decided> {
        let mut found = spots.iter().find_map(|spot| self.begins(spot, programs));
        for Marked(window, _) in windows {
            if programs.get(window.program).is_some_and(|each| each.process == self.process) {
                let decision = self.window(window, spots, programs);
                found = found.or(decision);
            }
        }
        found
    }

    /// Return d_max by the counts since the move was wanted, ns.
    pub fn longest_ns(&self) -> f64 {
        self.waiting.longest_ns(self.counts)
    }

    /// Return the number of threads with a known window.
    pub fn known(&self) -> usize {
        self.threads.values().filter(|each| !each.over && each.last.is_some()).count()
    }

    /// Decide to move if a thread executes another program, which uses nothing that the thread has in a
    /// cache.
    fn begins(&mut self, spot: &Spot, programs: &[Program]) -> Option<Decided> {
        let of = programs.get(spot.program).filter(|each| each.process == self.process)?;
        // A sweet spot at the beginning of a thread is its fork; the other threads keep their data.
        let executes = spot.kind == 0 && of.from_ns < spot.time_ns;
        if executes && self.waits_for(spot) {
            return self.decided(spot.time_ns, Why::Spot, Some((*spot, of.task)));
        }
        None
    }

    fn waits_for(&self, spot: &Spot) -> bool {
        self.wanted.as_ref().is_some_and(|each| each.kinds.contains(&spot.kind) && spot.time_ns >= each.at_ns)
    }

    fn window(&mut self, window: &Window, spots: &[Spot], programs: &[Program]) -> Option<Decided> {
        let thread = self.threads.entry(window.program).or_default();
        thread.last = window.known.then_some(*window);
        thread.over = window.last;
        thread.total += window.own;
        let Wanted { at_ns, bounded, .. } = *self.wanted.as_ref()?;
        if window.end_ns <= at_ns {
            return None;
        }
        if bounded && !window.known {
            return self.decided(window.start_ns.max(at_ns), Why::Unknown, None);
        }
        self.counts += share(window, at_ns);
        let limit_ns = at_ns.saturating_add(self.waiting.hard_limit_ns);
        if window.end_ns <= limit_ns {
            let here = |spot: &&Spot| spot.program == window.program && spot.time_ns == window.end_ns;
            if let Some(spot) =
                spots.iter().filter(here).find(|each| self.waits_for(each) && self.leads(each.program))
            {
                let task = programs.get(spot.program).map_or(self.process, |each| each.task);
                return self.decided(window.end_ns, Why::Spot, Some((*spot, task)));
            }
        }
        if self.threads.values().all(|each| each.over) {
            return self.decided(window.end_ns, Why::Ended, None);
        }
        let counting = |each: &&Thread| !each.over && each.last.is_some_and(|last| last.own.references > 0);
        let ends =
            self.threads.values().filter(counting).filter_map(|each| each.last).map(|last| last.end_ns);
        let known_ns = ends.min().unwrap_or(window.end_ns);
        if known_ns >= limit_ns {
            return self.decided(limit_ns, Why::HardLimit, None);
        }
        if bounded && self.waiting.enough(known_ns.saturating_sub(at_ns) as f64, self.longest_ns()) {
            return self.decided(window.end_ns, Why::WaitedEnough, None);
        }
        None
    }

    /// Return whether a thread has made at least half of the process's references.
    fn leads(&self, program: usize) -> bool {
        let all = self.threads.values().filter(|each| !each.over).map(|each| each.total.references);
        let own = self.threads.get(&program).map_or(0, |each| each.total.references);
        u128::from(own) * 2 >= all.map(u128::from).sum::<u128>()
    }

    fn decided(&mut self, moved_ns: u64, why: Why, spot: Option<(Spot, Task)>) -> Option<Decided> {
        let wanted = self.wanted.take()?;
        Some(Decided {
            process: self.process,
            wanted_ns: wanted.at_ns,
            moved_ns,
            why,
            longest_ns: self.longest_ns(),
            least_ns: self.least_ns,
            counts: self.counts,
            spot: spot.map(|each| each.0),
            task: spot.map(|each| each.1),
        })
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
