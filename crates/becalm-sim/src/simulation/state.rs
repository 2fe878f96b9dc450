//! The state of tasks, channels and CPUs in a simulation, and its counts.

use std::collections::VecDeque;
use std::ops::Range;

use crate::agenda::NEVER;
use crate::machine::Machine;
use crate::policy::{Entry, Queue};
use crate::weight;
use crate::workload::TaskDefinition;

/// The scheduling state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unborn,
    Ready,
    Running,
    Sleeping,
    /// The task waits for a message, or for room, in this channel.
    Waiting(u32),
    Ended,
}

/// The progress of the current step of a task; times are what is left of it, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// The next step has not begun.
    Next,
    /// The task computes.
    Using(u64),
    /// The task writes a message to this channel, in which room is reserved.
    Writing(u32, u64),
    /// The task reads a message from this channel.
    Reading(u32, u64),
    /// The task is a thread of this measured program, and runs until that has finished or until it waits.
    Advancing(u32, u64),
}

/// The number that stands for no task.
pub(super) const NONE: u32 = u32::MAX;

/// The state of a task. Fields that every event reads share one cache line, and those for waking two more,
/// since thousands of tasks do not fit into a cache.
#[repr(C, align(64))]
pub(super) struct Task {
    pub(super) doing: Doing,
    pub(super) state: State,
    /// The number of rounds left of the innermost repeat, of which `first` is the first step.
    pub(super) left: u64,
    pub(super) first: u32,
    /// The next step, an index into the steps of all programs.
    pub(super) at: u32,
    /// The first channel of the task, to which channel numbers in steps are added.
    pub(super) channel: u32,
    pub(super) cpu: u32,
    /// The task behind this one in the row of a channel.
    pub(super) behind: u32,
    /// The task sleeps but is still queued.
    pub(super) delayed: bool,
    pub(super) moved: bool,
    pub(super) ready_ns: u64,
    /// The scheduler's entry while the task is in no queue.
    pub(super) entry: Option<Entry>,
    pub(super) run_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) switches: u64,
    /// The task that it woke last.
    pub(super) wakee: u32,
    /// The number of changes of `wakee`, halved each second.
    pub(super) flips: u32,
    /// The second of simulated time in which `flips` was halved last.
    pub(super) flips_second: u32,
    pub(super) migrations: u32,
    pub(super) ended_ns: u64,
}

impl Task {
    /// Create a task that does not exist yet in simulated time; `at` is the first step of its program.
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

/// A first-in-first-out queue of tasks, linked through `Task::behind`.
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

/// A channel. `taken` is the room used by messages, from when they begin to be written until they have been
/// read. `oldest` is the time at which the next message to be read was sent, or `NEVER`; `others` has the
/// times of those behind it.
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

    /// Reserve room for one more message, and return whether there was any.
    #[inline]
    pub(super) fn keep(&mut self) -> bool {
        let room = self.taken < self.room;
        self.taken += u32::from(room);
        room
    }

    /// Add a message that has been written, for which room was reserved.
    #[inline]
    pub(super) fn put(&mut self, now: u64) {
        if self.empty() {
            self.oldest = now;
        } else {
            self.others.push_back(now);
        }
    }

    /// Remove the oldest message, and return the time at which it was sent. Its room stays taken until it has
    /// been read.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        let sent = (!self.empty()).then_some(self.oldest)?;
        self.oldest = self.others.pop_front().unwrap_or(NEVER);
        Some(sent)
    }

    /// Free the room of a message that has been read.
    #[inline]
    pub(super) fn free(&mut self) {
        self.taken -= 1;
    }
}

/// The state of a CPU. Fields that every event reads come first and share one cache line.
#[repr(C, align(64))]
pub(super) struct Cpu {
    /// The time at which the running step ends.
    pub(super) done_ns: u64,
    pub(super) tick_ns: u64,
    /// The time of the timer of the running task's slice (HRTICK).
    pub(super) slice_end_ns: u64,
    /// The time until which the CPU works for no task: switching, and waking others.
    pub(super) free_ns: u64,
    pub(super) span_ns: u64,
    /// The time up to which the running task's time has been accounted.
    pub(super) since_ns: u64,
    pub(super) idle_since_ns: u64,
    /// The task that ran last, which can continue without a switch.
    pub(super) previous: u32,
    pub(super) choose: bool,
    pub(super) queue: Queue,
    /// The range of CPUs that share a last-level cache with this one.
    pub(super) near: (u32, u32),
    /// The mean idle time (avg_idle).
    pub(super) mean_idle_ns: u64,
    pub(super) balance_ns: u64,
    /// The time up to which its measured program has been advanced.
    pub(super) advanced_ns: u64,
    pub(super) failures: u32,
}

impl Cpu {
    /// Create an idle CPU.
    pub(super) fn new(number: usize, machine: &Machine) -> Self {
        let (near, tick) = (machine.llc(number), machine.tick_ns());
        Self {
            done_ns: NEVER,
            // Ticks of CPUs are spread over a period, as the kernel can do (skew_tick), so that they do not
            // coincide.
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

/// The progress of a measured program.
pub(super) struct Progress {
    pub(super) solo_ns: f64,
    pub(super) done_ns: f64,
    /// The time at which its first thread began.
    pub(super) since_ns: u64,
    /// The threads that have begun.
    pub(super) threads: Vec<u32>,
}

impl Progress {
    pub(super) fn new(solo_ns: u64) -> Self {
        Self { solo_ns: solo_ns as f64, done_ns: 0.0, since_ns: NEVER, threads: Vec::new() }
    }

    /// Return whether all its work is done.
    pub(super) fn done(&self) -> bool {
        self.done_ns >= self.solo_ns
    }

    /// Return the earliest time at which the program can finish: no program is faster than alone.
    pub(super) fn earliest_ns(&self) -> u64 {
        self.since_ns.saturating_add(self.solo_ns as u64)
    }

    pub(super) fn through(&self, now: u64) -> bool {
        self.done() && now >= self.earliest_ns()
    }
}
