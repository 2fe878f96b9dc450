//! What a simulation remembers of tasks, channels and CPUs, and what it counts.

use std::collections::VecDeque;

use crate::policy::{Entry, Queue};

/// What a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unborn,
    Ready,
    Running,
    Sleeping,
    /// Waiting for a message, or for room, in a channel.
    Waiting(u32),
    Ended,
}

/// What the present step of a task still needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing is begun.
    Next,
    Using(u64),
    /// A message to a channel is being written, and room for it is kept.
    Writing(u32, u64),
    Reading(u32, u64),
}

pub(super) struct Task {
    pub(super) state: State,
    pub(super) doing: Doing,
    pub(super) program: u32,
    pub(super) channel: u32,
    pub(super) at: usize,
    /// Of the repeats that it is in: the step after `Repeat`, and how often still.
    pub(super) repeats: Vec<(usize, u64)>,
    pub(super) cpu: usize,
    /// While it is in no queue.
    pub(super) entry: Option<Entry>,
    /// It sleeps and is queued all the same.
    pub(super) delayed: bool,
    pub(super) moved: bool,
    pub(super) ready_ns: u64,
    pub(super) run_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) switches: u64,
    pub(super) migrations: u64,
    pub(super) ended_ns: u64,
}

#[derive(Default)]
pub(super) struct Channel {
    pub(super) room: usize,
    pub(super) kept: usize,
    pub(super) messages: VecDeque<u64>,
    pub(super) readers: VecDeque<u32>,
    pub(super) writers: VecDeque<u32>,
}

pub(super) struct Cpu {
    pub(super) queue: Queue,
    /// Until when what it does now is no task's work: switching, waking others.
    pub(super) free_ns: u64,
    /// From when on the running task's time is not yet accounted.
    pub(super) since_ns: u64,
    /// When the running step ends.
    pub(super) done_ns: u64,
    pub(super) tick_ns: u64,
    pub(super) choose: bool,
    pub(super) idle_since_ns: u64,
    /// Who ran last: nothing is switched when it goes on.
    pub(super) previous: Option<u32>,
    pub(super) span_ns: u64,
    pub(super) balance_ns: u64,
    pub(super) failures: u32,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) run_ns: u64,
    pub(super) overhead_ns: u64,
    pub(super) idle_ns: u64,
    pub(super) switches: u64,
    pub(super) preemptions: u64,
    pub(super) wakeups: u64,
    pub(super) migrations: u64,
    pub(super) messages: u64,
}
