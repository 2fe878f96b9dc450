//! What a scheduling policy decides, and the run queue that it decides about.
//!
//! A policy answers questions of the simulation (`crate::simulation`) about one CPU's queue: where a task that comes is
//! placed, whether one that leaves goes at once, who is next, whether a tick or a wake-up takes the CPU away. It keeps
//! nothing by itself: all it knows stands in the `Queue` and in its entries (`queue`). `cfs` and `eevdf` are the two of Linux;
//! `examples/shortest_first.rs` is one of one's own, in a hundred lines.

pub mod cfs;
pub mod eevdf;
pub mod queue;

pub use cfs::Cfs;
pub use eevdf::Eevdf;
pub use queue::{Entry, Queue};

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
