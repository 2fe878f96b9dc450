//! Workloads: tasks as state machines in a small language, and the channels between them.
//!
//! A task runs a list of steps from the first to the last; `Repeat` runs the steps up to its `End` a number
//! of times. Channels are numbered; a task names them relative to its own first channel, so that many tasks
//! share one list. `hackbench` builds such a workload, and a user can write one as a JSON file.

mod hackbench;
pub mod measured;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use hackbench::Hackbench;
use measured::{Kind, Measured, Waits};

/// One step of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Use the CPU for this time, ns.
    Compute(u64),
    /// Sleep for this time, ns.
    Sleep(u64),
    /// Use the CPU for a time drawn from one of the workload's `lengths`.
    ComputeDrawn(u32),
    /// Sleep for a time drawn from one of the workload's `lengths`.
    SleepDrawn(u32),
    /// Run as a thread of a measured program until that program has finished.
    Advance(u32),
    /// Write a message to a channel; wait until there is room.
    Send(u32),
    /// Read a message from a channel; wait until there is one.
    Receive(u32),
    /// Let other tasks run first (sched_yield(2)).
    Yield,
    /// Repeat the steps up to the matching `End` this number of times.
    Repeat(u64),
    End,
}

/// The scheduling policy of a task, as in sched_setscheduler(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    #[default]
    Other,
    Batch,
    Idle,
}

/// A task: the number of its program, its first channel, and its scheduling attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDefinition {
    pub name: String,
    pub program: u32,
    #[serde(default)]
    pub channel: u32,
    #[serde(default)]
    pub nice: i8,
    #[serde(default)]
    pub class: Class,
    /// The task's own slice, ns (sched_setattr(2)); 0: the scheduler's.
    #[serde(default)]
    pub slice_ns: u64,
    /// The time at which the task is created, ns.
    #[serde(default)]
    pub start_ns: u64,
}

/// A workload.
///
/// - `room`: the number of messages that each channel holds; `channels`: their names, if any.
/// - `drained`: for each channel the number of messages left at which all writers that wait for room wake up.
///   If it is omitted or `BY_THE_MESSAGE`, each message read wakes the first of them.
/// - `lengths`: distributions of times by their quantiles, ns.
/// - `kinds`, `measured`: programs that were measured as a whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub programs: Vec<Vec<Step>>,
    pub tasks: Vec<TaskDefinition>,
    #[serde(default)]
    pub room: Vec<u32>,
    #[serde(default)]
    pub drained: Vec<u32>,
    #[serde(default)]
    pub channels: Vec<String>,
    #[serde(default)]
    pub lengths: Vec<Vec<u64>>,
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// The waiting behaviour of each kind's threads; without it no threads wait.
    #[serde(default)]
    pub waits: Vec<Waits>,
    #[serde(default)]
    pub measured: Vec<Measured>,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum WorkloadError {
    #[error("There are no tasks in it.")]
    Empty,
    #[error("{task} runs program {program}, and there are {programs}.")]
    NoProgram { task: String, program: u32, programs: usize },
    #[error("{task} uses channel {channel}, and there are {channels}.")]
    NoChannel { task: String, channel: u32, channels: usize },
    #[error("Program {program} has a repeat without an end, or an end without a repeat.")]
    Unbalanced { program: usize },
    #[error("Channel {channel} has no room: a message could never be sent.")]
    NoRoom { channel: usize },
    #[error("{given} channels say when their writers are woken; they are {channels}, and each holds more than that.")]
    Drained { given: usize, channels: usize },
    #[error("{task} draws from or advances number {number}, and there are {count}.")]
    NoNumber { task: String, number: u32, count: usize },
    #[error("{task} has niceness {nice}; it lies between -20 and 19.")]
    Nice { task: String, nice: i8 },
    #[error("A time of {ns} ns is longer than {MOST_NS} ns, which are 146 years.")]
    TooLong { ns: u64 },
    #[error("{0}.")]
    Measured(String),
    #[error("{what} would need about {:.0} GB of memory; {:.0} are allowed.", giga(.bytes), giga(.limit))]
    TooLarge { what: String, bytes: u64, limit: u64 },
}

/// The value of `drained` with which writers that wait for room wake up one by one.
pub const BY_THE_MESSAGE: u32 = u32::MAX;

/// The longest time in a workload or a simulation, ns (146 years): the sum of two such times still fits into
/// 64 bits.
pub const MOST_NS: u64 = 1 << 62;

/// The largest memory for tasks and waiting messages, in bytes.
pub const LIMIT_BYTES: u64 = 4 << 30;

fn giga(bytes: &u64) -> f64 {
    *bytes as f64 / 1e9
}

impl Workload {
    /// Check that the workload can be run.
    ///
    /// # Errors
    /// Returns the first reason why it cannot.
    pub fn check(&self) -> Result<(), WorkloadError> {
        if self.tasks.is_empty() {
            return Err(WorkloadError::Empty);
        }
        for (program, steps) in self.programs.iter().enumerate() {
            let mut depth = 0i64;
            for step in steps {
                depth += match step {
                    Step::Repeat(_) => 1,
                    Step::End => -1,
                    _ => 0,
                };
                if depth < 0 {
                    break;
                }
            }
            if depth != 0 {
                return Err(WorkloadError::Unbalanced { program });
            }
        }
        if let Some(channel) = self.room.iter().position(|&room| room == 0) {
            return Err(WorkloadError::NoRoom { channel });
        }
        let less = |(&left, &room): (&u32, &u32)| left < room || left == BY_THE_MESSAGE;
        let drained = self.drained.iter().zip(&self.room).all(less);
        if !self.drained.is_empty() && (self.drained.len() != self.room.len() || !drained) {
            let (given, channels) = (self.drained.len(), self.room.len());
            return Err(WorkloadError::Drained { given, channels });
        }
        let steps = self.programs.iter().flatten().map(|step| match *step {
            Step::Compute(ns) | Step::Sleep(ns) => ns,
            _ => 0,
        });
        let starts = self.tasks.iter().map(|task| task.start_ns);
        let longest = steps.chain(starts).chain(self.lengths.iter().flatten().copied()).max();
        if let Some(ns) = longest.filter(|&ns| ns > MOST_NS) {
            return Err(WorkloadError::TooLong { ns });
        }
        measured::check(&self.kinds, &self.waits, &self.measured, &self.lengths)
            .map_err(WorkloadError::Measured)?;
        for task in &self.tasks {
            if !(-20..=19).contains(&task.nice) {
                return Err(WorkloadError::Nice { task: task.name.clone(), nice: task.nice });
            }
            let Some(steps) = self.programs.get(task.program as usize) else {
                let programs = self.programs.len();
                return Err(WorkloadError::NoProgram {
                    task: task.name.clone(),
                    program: task.program,
                    programs,
                });
            };
            for step in steps {
                let (number, count) = match *step {
                    Step::ComputeDrawn(number) | Step::SleepDrawn(number) => (number, self.lengths.len()),
                    Step::Advance(number) => (number, self.measured.len()),
                    _ => (0, 1),
                };
                if number as usize >= count {
                    return Err(WorkloadError::NoNumber { task: task.name.clone(), number, count });
                }
                if let Step::Send(channel) | Step::Receive(channel) = step {
                    let channel = task.channel.saturating_add(*channel);
                    if channel as usize >= self.room.len() {
                        let channels = self.room.len();
                        return Err(WorkloadError::NoChannel { task: task.name.clone(), channel, channels });
                    }
                }
            }
        }
        let waiting: u64 = self.room.iter().map(|&room| 8 * u64::from(room)).sum();
        let bytes = waiting + 512 * self.tasks.len() as u64;
        if bytes > LIMIT_BYTES {
            let what = format!("{} tasks and their channels", self.tasks.len());
            return Err(WorkloadError::TooLarge { what, bytes, limit: LIMIT_BYTES });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_workload_is_rejected() {
        let task = |name: String, program, channel| TaskDefinition {
            name,
            program,
            channel,
            nice: 0,
            class: Class::Other,
            slice_ns: 0,
            start_ns: 0,
        };
        let spin = |steps: Vec<Step>| Workload {
            programs: vec![steps],
            tasks: vec![task("a".into(), 0, 0)],
            room: vec![1],
            ..Workload::default()
        };
        assert_eq!(Workload::default().check(), Err(WorkloadError::Empty));
        assert_eq!(spin(vec![Step::Repeat(2)]).check(), Err(WorkloadError::Unbalanced { program: 0 }));
        assert_eq!(
            spin(vec![Step::End, Step::Repeat(1)]).check(),
            Err(WorkloadError::Unbalanced { program: 0 })
        );
        let none = WorkloadError::NoChannel { task: "a".into(), channel: 1, channels: 1 };
        assert_eq!(spin(vec![Step::Send(1)]).check(), Err(none));
        let mut full = spin(vec![Step::Send(0)]);
        full.room = vec![0];
        assert_eq!(full.check(), Err(WorkloadError::NoRoom { channel: 0 }));
        assert_eq!(spin(vec![Step::Sleep(u64::MAX)]).check(), Err(WorkloadError::TooLong { ns: u64::MAX }));
        let mut drained = spin(vec![Step::Send(0)]);
        drained.drained = vec![1];
        assert_eq!(drained.check(), Err(WorkloadError::Drained { given: 1, channels: 1 }));
        let mut lost = spin(vec![]);
        lost.tasks[0].program = 3;
        let drawn = spin(vec![Step::SleepDrawn(2)]);
        assert_eq!(drawn.check(), Err(WorkloadError::NoNumber { task: "a".into(), number: 2, count: 0 }));
        let mut nice = spin(vec![]);
        nice.tasks[0].nice = 20;
        assert_eq!(nice.check(), Err(WorkloadError::Nice { task: "a".into(), nice: 20 }));
        assert_eq!(lost.check(), Err(WorkloadError::NoProgram { task: "a".into(), program: 3, programs: 1 }));
    }
}
