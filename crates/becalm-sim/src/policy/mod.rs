//! The interface of scheduling policies, and the run queue that they act on.
//!
//! The simulation (`crate::simulation`) asks a policy about one CPU's queue: where to place an arriving task,
//! whether a leaving one goes at once, which task is next, and whether a tick or a wake-up preempts. A policy
//! has no state of its own; all state is in the `Queue` and its entries (`queue`). `cfs` and `eevdf` are the
//! two of Linux; `examples/shortest_first.rs` is a user's policy in a hundred lines.

pub mod cfs;
pub mod eevdf;
pub mod queue;

pub use cfs::Cfs;
pub use eevdf::Eevdf;
pub use queue::{Entry, Queue};

/// The way in which a task arrives at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    New,
    Woken,
    Moved,
}

/// The way in which a task leaves a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    Sleep,
    Exit,
    Move,
}

/// A scheduler.
pub trait Policy {
    /// Queue an arriving task.
    fn attach(&self, queue: &mut Queue, entry: Entry, how: Arrival);

    /// Remove the running task, or a waiting one that is moved. None: it stays queued although it sleeps.
    fn detach(&self, queue: &mut Queue, task: u32, how: Departure) -> Option<Entry>;

    /// Wake a task that is still queued.
    fn revive(&self, queue: &mut Queue, task: u32);

    /// Account the time that the running task has run, ns. Return whether to pick another task.
    fn account(&self, queue: &mut Queue, ran_ns: u64) -> bool;

    /// Handle a tick. Return whether to pick another task.
    fn tick(&self, queue: &mut Queue) -> bool;

    /// Return whether a task that has just arrived preempts the running one.
    fn preempts(&self, queue: &mut Queue, task: u32) -> bool;

    /// Pick the task that runs, which may be the running one. Queued tasks that turn out to sleep are removed
    /// and appended to `asleep`.
    fn pick(&self, queue: &mut Queue, asleep: &mut Vec<Entry>);

    /// Handle sched_yield(2) of the running task.
    fn yielded(&self, queue: &mut Queue);

    /// Adapt the entry of a sleeping task that wakes on another CPU.
    fn moved_asleep(&self, entry: &mut Entry, from: &Queue, to: &Queue);

    /// Return the time after which a timer interrupts the running task, ns (HRTICK). None: only ticks do.
    fn slice_left(&self, _queue: &Queue) -> Option<u64> {
        None
    }

    /// Return the features that concern placement.
    fn placement(&self) -> Placement {
        Placement::default()
    }
}

/// The features of kernel/sched/features.h that decide where a woken task runs and which tasks are not moved.
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
