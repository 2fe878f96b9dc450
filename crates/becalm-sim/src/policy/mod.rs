//! What a scheduling policy decides, and the run queue that it decides about.
//!
//! A policy answers questions of the simulation (`crate::simulation`) about one CPU's queue: where a task that comes is
//! placed, whether one that leaves goes at once, who is next, whether a tick or a wake-up takes the CPU away. It keeps
//! nothing by itself: all it knows stands in the `Queue` and in the entries. `cfs` and `eevdf` are the two of Linux;
//! `examples/shortest_first.rs` is one of one's own, in a hundred lines.

pub mod cfs;
pub mod eevdf;

pub use cfs::Cfs;
pub use eevdf::Eevdf;

use crate::weight::virtual_ns;
use crate::workload::Class;

/// A task as the scheduler sees it. `v`: virtual time; `deadline`, `lag`: virtual as well, and only EEVDF's; `slice_ns`: its
/// own, 0 for the policy's. `delayed`: it sleeps, and is queued all the same. `order`: who came first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    pub task: u32,
    pub weight: u32,
    pub slice_ns: u64,
    pub class: Class,
    pub v: i64,
    pub deadline: i64,
    pub lag: i64,
    pub delayed: bool,
    pub order: u64,
    /// When it last stopped running, ns: what ran a moment ago has its data in the cache.
    pub ran_until_ns: u64,
}

/// The tasks of one CPU: those that wait, and the one that runs.
#[derive(Debug, Default)]
pub struct Queue {
    pub waiting: Vec<Entry>,
    pub current: Option<Entry>,
    /// Never goes back; CFS places tasks by it.
    pub min_v: i64,
    /// Of all, the running one included.
    pub weight: u64,
    /// Sum of weight times virtual time over all.
    pub moment: i128,
    /// How long the running one has run since it was picked, ns.
    pub ran_ns: u64,
    /// It keeps the CPU until it has had what it asked for (RUN_TO_PARITY).
    pub protected: bool,
    /// A task with a shorter slice has ended that: it keeps the CPU only while it is eligible (PREEMPT_SHORT).
    pub cut_short: bool,
    pub next: Option<u32>,
    pub last: Option<u32>,
    pub skip: Option<u32>,
    /// The latest moment, virtual, up to which it keeps the CPU (vprot, from 6.17 on).
    pub protected_v: i64,
    order: u64,
    /// Where the entry with the least virtual time waits; none while that is not known.
    first: Option<usize>,
}

impl Queue {
    /// How many tasks there are, the running one included.
    pub fn count(&self) -> usize {
        self.waiting.len() + usize::from(self.current.is_some())
    }

    /// Let an entry wait. Of entries that are alike in all else, the earlier one counts as first.
    pub fn push(&mut self, mut entry: Entry) {
        self.order += 1;
        entry.order = self.order;
        self.join(&entry);
        let at = self.waiting.len();
        match self.first {
            Some(first) if entry.v < self.waiting[first].v => self.first = Some(at),
            None if at == 0 => self.first = Some(0),
            _ => {}
        }
        self.waiting.push(entry);
    }

    /// Where the waiting entry with the least virtual time is, of equals the earlier one: looked for again only after it
    /// has gone.
    pub fn leftmost(&mut self) -> Option<usize> {
        if self.first.is_none() {
            self.first =
                (0..self.waiting.len()).min_by_key(|&at| (self.waiting[at].v, self.waiting[at].order));
        }
        self.first
    }

    fn swap_out(&mut self, at: usize) -> Entry {
        let last = self.waiting.len() - 1;
        if self.first == Some(at) {
            self.first = None;
        } else if self.first == Some(last) {
            self.first = Some(at);
        }
        self.waiting.swap_remove(at)
    }

    /// Take a waiting entry out.
    pub fn take(&mut self, task: u32) -> Option<Entry> {
        let at = self.waiting.iter().position(|each| each.task == task)?;
        let entry = self.swap_out(at);
        self.part(&entry);
        self.forget(task);
        Some(entry)
    }

    /// Take the running one out.
    pub fn take_current(&mut self) -> Option<Entry> {
        let entry = self.current.take()?;
        self.part(&entry);
        self.forget(entry.task);
        self.ran_ns = 0;
        self.protected = false;
        self.cut_short = false;
        Some(entry)
    }

    /// Take one out, whether it runs or waits.
    pub fn remove(&mut self, task: u32) -> Option<Entry> {
        if self.running() == Some(task) {
            self.take_current()
        } else {
            self.take(task)
        }
    }

    /// Which task runs.
    pub fn running(&self) -> Option<u32> {
        self.current.as_ref().map(|each| each.task)
    }

    /// The running one waits again.
    pub fn put_back(&mut self) {
        if let Some(entry) = self.take_current() {
            self.push(entry);
        }
    }

    /// Let a waiting entry run.
    pub fn run(&mut self, task: u32) {
        if let Some(at) = self.waiting.iter().position(|each| each.task == task) {
            self.current = Some(self.swap_out(at));
            self.ran_ns = 0;
            self.cut_short = false;
            self.forget(task);
        }
    }

    /// The running one has run for so long: its virtual time advances.
    pub fn advance(&mut self, ns: u64) {
        if let Some(entry) = &mut self.current {
            let moved = virtual_ns(ns, entry.weight);
            entry.v += moved;
            self.moment += i128::from(moved) * i128::from(entry.weight);
            self.ran_ns += ns;
        }
    }

    /// The weighted mean of all virtual times, rounded down; `min_v` of an empty queue.
    pub fn mean_v(&self) -> i64 {
        match self.weight {
            0 => self.min_v,
            weight => self.moment.div_euclid(i128::from(weight)) as i64,
        }
    }

    /// Weighted virtual times of all less so much each: what is not negative has had no more than its share.
    pub fn eligible(&self, v: i64) -> bool {
        self.moment >= i128::from(v) * i128::from(self.weight)
    }

    pub fn find(&self, task: u32) -> Option<&Entry> {
        self.waiting.iter().chain(&self.current).find(|each| each.task == task)
    }

    fn join(&mut self, entry: &Entry) {
        self.weight += u64::from(entry.weight);
        self.moment += i128::from(entry.v) * i128::from(entry.weight);
    }

    fn part(&mut self, entry: &Entry) {
        self.weight -= u64::from(entry.weight);
        self.moment -= i128::from(entry.v) * i128::from(entry.weight);
    }

    fn forget(&mut self, task: u32) {
        for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
            if *buddy == Some(task) {
                *buddy = None;
            }
        }
    }
}

/// How a task comes to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    New,
    Woken,
    Moved,
}

/// How it leaves one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    Sleep,
    Exit,
    Move,
}

/// A scheduler.
pub trait Policy {
    /// Place a task that comes.
    fn attach(&self, queue: &mut Queue, entry: Entry, how: Arrival);

    /// The running task leaves, or a waiting one is moved. None: it stays queued although it sleeps.
    fn detach(&self, queue: &mut Queue, task: u32, how: Departure) -> Option<Entry>;

    /// A task wakes that is queued still: it goes on from there.
    fn revive(&self, queue: &mut Queue, task: u32);

    /// The running task has run for so long. True: somebody else is to be picked.
    fn account(&self, queue: &mut Queue, ran_ns: u64) -> bool;

    /// A tick. True: somebody else is to be picked.
    fn tick(&self, queue: &mut Queue) -> bool;

    /// Whether a task that has just come takes the CPU from the running one.
    fn preempts(&self, queue: &mut Queue, task: u32) -> bool;

    /// Choose who runs, the running one among them. Tasks that turn out to sleep are handed over in `asleep`.
    fn pick(&self, queue: &mut Queue, asleep: &mut Vec<Entry>);

    /// The running task lets others go first.
    fn yielded(&self, queue: &mut Queue);

    /// A sleeping task wakes on another CPU than it slept on.
    fn moved_asleep(&self, entry: &mut Entry, from: &Queue, to: &Queue);

    /// When the running task is to be interrupted by a timer of its own, ns from now (HRTICK); none: ticks do that.
    fn slice_left(&self, _queue: &Queue) -> Option<u64> {
        None
    }

    /// What counts when a task is woken or moved.
    fn placement(&self) -> Placement {
        Placement::default()
    }
}

/// Features of kernel/sched/features.h that say where a woken task goes, and which tasks are left where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    pub wa_idle: bool,
    pub wa_weight: bool,
    pub wa_bias: bool,
    pub cache_hot_buddy: bool,
}

impl Default for Placement {
    fn default() -> Self {
        Self { wa_idle: true, wa_weight: true, wa_bias: true, cache_hot_buddy: false }
    }
}
