//! `Watch`: a wanted move of a running process, decided while its stream goes on, with the window that says so.
//!
//! `wait` has the arithmetic, and decides of a whole stream of one task; this is the same for all threads of a process, and
//! keeps only what it needs. What a process counts is what its threads do together. Windows of threads end at times of
//! their own: a wait is as long as is known of all threads that count. A spot is the process' where its thread has made at
//! least half of what the process counted until then, or begins another program: who counts little takes little along.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::detect::Marked;
use super::judge::Spot;
use super::program::Program;
use super::record::Task;
use super::wait::{share, Waiting, Why};
use super::window::{Counts, Window};

/// A move that is wanted of all threads of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub process: Task,
    pub at_ns: u64,
    /// Whether waiting is bounded by what it can save (d_min, d_max), which counts of a cache say and no others. If not,
    /// the hard limit alone bounds it.
    #[serde(default = "yes")]
    pub bounded: bool,
    /// Types of spots that are waited for.
    #[serde(default = "all")]
    pub kinds: Vec<u8>,
}

fn yes() -> bool {
    true
}

fn all() -> Vec<u8> {
    vec![0, 1, 2]
}

/// When it is moved, and why then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decided {
    pub process: Task,
    pub wanted_ns: u64,
    pub moved_ns: u64,
    pub why: Why,
    /// d_max at that moment, and d_min where it was computed.
    pub longest_ns: f64,
    pub least_ns: f64,
    /// Of all threads, since it was wanted.
    pub counts: Counts,
    /// The spot, and whose.
    pub spot: Option<Spot>,
    pub task: Option<Task>,
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct Thread {
    last: Option<Window>,
    total: Counts,
    over: bool,
}

/// The process, and the move that is wanted of it.
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

    /// A move is wanted from now on: decided at once where waiting cannot pay, or nobody can say.
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

    /// Windows and spots since the last time, in order; what is decided by them.
    pub fn follow(&mut self, windows: &[Marked], spots: &[Spot], programs: &[Program]) -> Option<Decided> {
        let mut found = spots.iter().find_map(|spot| self.begins(spot, programs));
        for Marked(window, _) in windows {
            if programs.get(window.program).is_some_and(|each| each.process == self.process) {
                let said = self.window(window, spots, programs);
                found = found.or(said);
            }
        }
        found
    }

    /// What is counted since the move was wanted: d_max by now.
    pub fn longest_ns(&self) -> f64 {
        self.waiting.longest_ns(self.counts)
    }

    /// Threads of which a window is known: of how many something can be said.
    pub fn known(&self) -> usize {
        self.threads.values().filter(|each| !each.over && each.last.is_some()).count()
    }

    /// Another program begins in it: nothing that it has in a cache is used again.
    fn begins(&mut self, spot: &Spot, programs: &[Program]) -> Option<Decided> {
        let of = programs.get(spot.program).filter(|each| each.process == self.process)?;
        // What has begun with a fork is a thread of it; the others go on with what they have.
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

    /// Whether a thread has made at least half of what the process counted.
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
