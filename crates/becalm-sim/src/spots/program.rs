//! A task as the accounting tracks it, from its first record to its end.

use super::record::Task;
use super::window::{Counts, Window};

/// A task from its first record to its end.
#[derive(Debug, Clone)]
pub struct Program {
    pub task: Task,
    /// The process to which the thread belongs.
    pub process: Task,
    pub from_ns: u64,
    pub until_ns: u64,
    /// Whether it ended before the stream did.
    pub ended: bool,
    /// The counts of the program itself.
    pub own: Counts,
    /// The counts of others while it did not run.
    pub others: Counts,
    pub(super) place: Place,
    /// The counts of others when it began to wait.
    pub(super) saved: Counts,
    pub(super) open: Window,
    /// The time of its last record.
    pub(super) seen_ns: u64,
    /// The CPU where it ran last or to which it was moved.
    pub(super) cpu: Option<u32>,
    /// Whether it ends with its next switch away.
    pub(super) exits: bool,
    /// Whether its last window is closed.
    pub(super) over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Runs {
        cpu: u32,
    },
    Waits {
        llc: usize,
    },
    /// The program is on a CPU that is not recorded, or at an unknown place.
    Away,
}
