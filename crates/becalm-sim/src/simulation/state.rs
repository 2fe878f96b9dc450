//! What a simulation remembers of tasks, channels and CPUs, and what it counts.

use std::collections::VecDeque;
use std::ops::Range;

use crate::agenda::NEVER;
use crate::machine::Machine;
use crate::policy::{Entry, Queue};
use crate::weight;
use crate::workload::TaskDefinition;

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
    /// It is part of a measured program, and runs until that has got through, or for so long before it waits.
    Advancing(u32, u64),
}

/// Nobody.
pub(super) const NONE: u32 = u32::MAX;

/// What each event reads stands in one line of the cache, what waking reads in two more: thousands of tasks are in none.
#[repr(C, align(64))]
pub(super) struct Task {
    pub(super) doing: Doing,
    pub(super) state: State,
    /// Of the innermost repeat that it is in: how often still, and the step after it (`first`).
    pub(super) left: u64,
    pub(super) first: u32,
    /// Its next step, among those of all programs.
    pub(super) at: u32,
    /// What it counts channels from.
    pub(super) channel: u32,
    pub(super) cpu: u32,
    /// Who waits behind it for the same channel.
    pub(super) behind: u32,
    /// It sleeps and is queued all the same.
    pub(super) delayed: bool,
    pub(super) moved: bool,
    pub(super) ready_ns: u64,
    /// While it is in no queue.
    pub(super) entry: Option<Entry>,
    pub(super) run_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) switches: u64,
    /// Whom it woke last, how often that was another one than before, and in which second that was halved.
    pub(super) wakee: u32,
    pub(super) flips: u32,
    pub(super) flips_second: u32,
    pub(super) migrations: u32,
    pub(super) ended_ns: u64,
}

impl Task {
    /// Not born yet; `at`: the first step of its program.
    pub(super) fn new(number: u32, made: &TaskDefinition, at: u32) -> Self {
        let entry = Entry {
            task: number,
            weight: weight::of(made.class, made.nice),
            slice_ns: made.slice_ns,
            class: made.class,
            ..Entry::default()
        };
        Self {
            doing: Doing::Next,
            state: State::Unborn,
            left: 0,
            first: 0,
            at,
            channel: made.channel,
            cpu: 0,
            behind: NONE,
            delayed: false,
            moved: false,
            ready_ns: 0,
            entry: Some(entry),
            run_ns: 0,
            wait_ns: 0,
            switches: 0,
            wakee: NONE,
            flips: 0,
            flips_second: 0,
            migrations: 0,
            ended_ns: 0,
        }
    }
}

/// Tasks in a row, first come, first served: each knows who is behind it.
#[derive(Clone, Copy)]
pub(super) struct Row {
    first: u32,
    last: u32,
}

impl Row {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    pub(super) fn empty(&self) -> bool {
        self.first == NONE
    }

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

/// `taken`: room that messages take, from when they begin to be written until they have been read. `oldest`: when the
/// message was sent that is read next, `NEVER` where there is none; `others`: those behind it.
#[repr(align(64))]
pub(super) struct Channel {
    room: u32,
    pub(super) taken: u32,
    pub(super) readers: Row,
    pub(super) writers: Row,
    oldest: u64,
    others: VecDeque<u64>,
}

impl Channel {
    pub(super) fn new(room: u32) -> Self {
        let (readers, writers) = (Row::EMPTY, Row::EMPTY);
        Self { room, taken: 0, readers, writers, oldest: NEVER, others: VecDeque::new() }
    }

    pub(super) fn empty(&self) -> bool {
        self.oldest == NEVER
    }

    /// Keep room for one more message. False: there is none.
    #[inline]
    pub(super) fn keep(&mut self) -> bool {
        let room = self.taken < self.room;
        self.taken += u32::from(room);
        room
    }

    /// A message has been written, for which room was kept.
    #[inline]
    pub(super) fn put(&mut self, now: u64) {
        if self.empty() {
            self.oldest = now;
        } else {
            self.others.push_back(now);
        }
    }

    /// When the message was sent that is taken out; its room is free when it has been read.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        let sent = (!self.empty()).then_some(self.oldest)?;
        self.oldest = self.others.pop_front().unwrap_or(NEVER);
        Some(sent)
    }

    /// The room of a message that has been read is free.
    #[inline]
    pub(super) fn free(&mut self) {
        self.taken -= 1;
    }
}

/// What each event reads stands first, and in one line of the cache.
#[repr(C, align(64))]
pub(super) struct Cpu {
    /// When the running step ends.
    pub(super) done_ns: u64,
    pub(super) tick_ns: u64,
    /// When the timer of the running task's slice comes (HRTICK).
    pub(super) slice_end_ns: u64,
    /// Until when what it does now is no task's work: switching, waking others.
    pub(super) free_ns: u64,
    pub(super) span_ns: u64,
    /// From when on the running task's time is not yet accounted.
    pub(super) since_ns: u64,
    pub(super) idle_since_ns: u64,
    /// Who ran last: nothing is switched when it goes on.
    pub(super) previous: u32,
    pub(super) choose: bool,
    pub(super) queue: Queue,
    /// The CPUs that share a last-level cache with it.
    pub(super) near: (u32, u32),
    /// How long it is idle, on average (avg_idle).
    pub(super) mean_idle_ns: u64,
    pub(super) balance_ns: u64,
    /// Up to when its measured program was brought forward.
    pub(super) advanced_ns: u64,
    pub(super) failures: u32,
}

impl Cpu {
    /// Idle.
    pub(super) fn new(number: usize, machine: &Machine) -> Self {
        let (near, tick) = (machine.llc(number), machine.tick_ns());
        Self {
            done_ns: NEVER,
            // Ticks of CPUs are spread over a period, as the kernel's may be (skew_tick), so that they do not coincide.
            tick_ns: tick + tick * number as u64 / machine.cpus as u64,
            slice_end_ns: NEVER,
            free_ns: 0,
            span_ns: 0,
            since_ns: 0,
            idle_since_ns: 0,
            previous: NONE,
            choose: false,
            queue: Queue::default(),
            near: (near.start as u32, near.end as u32),
            mean_idle_ns: 2 * machine.migration_cost_ns,
            balance_ns: 0,
            advanced_ns: 0,
            failures: 0,
        }
    }

    pub(super) fn near(&self) -> Range<usize> {
        self.near.0 as usize..self.near.1 as usize
    }
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
    /// When its first thread began.
    pub(super) since_ns: u64,
    /// The threads that have begun.
    pub(super) threads: Vec<u32>,
}

impl Progress {
    pub(super) fn new(solo_ns: u64) -> Self {
        Self { solo_ns: solo_ns as f64, done_ns: 0.0, since_ns: NEVER, threads: Vec::new() }
    }

    /// Whether all its work is done.
    pub(super) fn done(&self) -> bool {
        self.done_ns >= self.solo_ns
    }

    /// When it is through at the earliest: no program is faster than alone.
    pub(super) fn earliest_ns(&self) -> u64 {
        self.since_ns.saturating_add(self.solo_ns as u64)
    }

    pub(super) fn through(&self, now: u64) -> bool {
        self.done() && now >= self.earliest_ns()
    }
}
