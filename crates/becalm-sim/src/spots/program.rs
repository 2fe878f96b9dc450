//! `Program`, a task from its first record to its end as the accounting has it, and where it is.

use super::record::Task;
use super::window::{Counts, Window};

/// A task from its first record to its end.
#[derive(Debug, Clone)]
pub struct Program {
    pub task: Task,
    /// The process that it is a thread of.
    pub process: Task,
    pub from_ns: u64,
    pub until_ns: u64,
    /// Whether it ended before the stream.
    pub ended: bool,
    /// All that it counted itself, and that others did while it did not run.
    pub own: Counts,
    pub others: Counts,
    pub(super) place: Place,
    /// What others had counted when it began to wait.
    pub(super) saved: Counts,
    pub(super) open: Window,
    /// Its last record.
    pub(super) seen_ns: u64,
    /// The CPU where it ran or was moved to.
    pub(super) cpu: Option<u32>,
    /// Whether it ends with its next switch out.
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
    /// Where nothing is recorded, or nobody knows.
    Away,
}
