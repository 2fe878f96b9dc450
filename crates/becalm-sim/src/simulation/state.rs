//! What a simulation remembers of tasks, channels and CPUs, and what it counts.

use std::collections::VecDeque;

use crate::agenda::NEVER;
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
    /// It is part of a measured program, and runs until that has got through.
    Advancing(u32),
}

/// Nobody.
pub(super) const NONE: u32 = u32::MAX;

/// What each event reads stands together, and in as few lines of the cache as may be: thousands of tasks are in none.
#[repr(C)]
pub(super) struct Task {
    pub(super) doing: Doing,
    pub(super) state: State,
    pub(super) program: u32,
    pub(super) channel: u32,
    pub(super) at: u32,
    pub(super) cpu: u32,
    /// Of the innermost repeat that it is in: how often still, and the step after it; the others.
    pub(super) left: u64,
    pub(super) first: u32,
    /// Who waits behind it for the same channel.
    pub(super) behind: u32,
    /// While it is in no queue.
    pub(super) entry: Option<Entry>,
    pub(super) outer: Vec<(u32, u64)>,
    /// It sleeps and is queued all the same.
    pub(super) delayed: bool,
    pub(super) moved: bool,
    pub(super) ready_ns: u64,
    pub(super) run_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) switches: u64,
    pub(super) migrations: u64,
    pub(super) ended_ns: u64,
    /// Whom it woke last, how often that was another one than before, and in which second that was halved.
    pub(super) wakee: u32,
    pub(super) flips: u32,
    pub(super) flips_second: u32,
}

/// Tasks in a row, first come, first served: each knows who is behind it.
#[derive(Clone, Copy)]
pub(super) struct Row {
    first: u32,
    last: u32,
}

impl Row {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    pub(super) fn join(&mut self, tasks: &mut [Task], task: u32) {
        tasks[task as usize].behind = NONE;
        if self.last == NONE {
            self.first = task;
        } else {
            tasks[self.last as usize].behind = task;
        }
        self.last = task;
    }

    pub(super) fn leave(&mut self, tasks: &[Task]) -> Option<u32> {
        let task = self.first;
        if task == NONE {
            return None;
        }
        self.first = tasks[task as usize].behind;
        if self.first == NONE {
            self.last = NONE;
        }
        Some(task)
    }
}

/// `oldest`: when the message was sent that is read next, `NEVER` where there is none; `others`: those behind it.
pub(super) struct Channel {
    pub(super) room: u32,
    pub(super) kept: u32,
    pub(super) readers: Row,
    pub(super) writers: Row,
    oldest: u64,
    others: VecDeque<u64>,
}

impl Channel {
    pub(super) fn new(room: u32) -> Self {
        let (readers, writers) = (Row::EMPTY, Row::EMPTY);
        Self { room, kept: 0, readers, writers, oldest: NEVER, others: VecDeque::new() }
    }

    pub(super) fn empty(&self) -> bool {
        self.oldest == NEVER
    }

    /// Whether one more message may be written.
    pub(super) fn has_room(&self) -> bool {
        self.others.len() + usize::from(!self.empty()) + (self.kept as usize) < self.room as usize
    }

    pub(super) fn put(&mut self, now: u64) {
        if self.empty() {
            self.oldest = now;
        } else {
            self.others.push_back(now);
        }
    }

    /// When the message was sent that is taken out.
    pub(super) fn take(&mut self) -> Option<u64> {
        let sent = (!self.empty()).then_some(self.oldest)?;
        self.oldest = self.others.pop_front().unwrap_or(NEVER);
        Some(sent)
    }
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
    /// When the timer of the running task's slice comes (HRTICK).
    pub(super) slice_end_ns: u64,
    /// How long it is idle, on average (avg_idle).
    pub(super) mean_idle_ns: u64,
    /// Up to when its measured program was brought forward.
    pub(super) advanced_ns: u64,
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

/// A measured program in a simulation.
pub(super) struct Progress {
    pub(super) solo_ns: f64,
    pub(super) done_ns: f64,
}

impl Progress {
    pub(super) fn through(&self) -> bool {
        self.done_ns >= self.solo_ns
    }
}
