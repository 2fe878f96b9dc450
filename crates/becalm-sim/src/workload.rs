//! What is run: tasks as state machines, in one small language, and the channels between them.
//!
//! A task is a list of steps that it goes through from the first to the last; `Repeat` runs the steps after it, up to its
//! `End`, so many times. Channels are numbered; a task names them relative to its own first one, so that many tasks
//! share one list. `hackbench` and the others below make such workloads; a file of a person is one (`Definition`).

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
    /// Use the CPU for so long, ns.
    Compute(u64),
    /// Wait for so long, ns.
    Sleep(u64),
    /// The same for a time that is drawn from one of the lengths of the workload.
    ComputeDrawn(u32),
    SleepDrawn(u32),
    /// Run until a measured program has got through, and bring it forward.
    Advance(u32),
    /// Put a message into a channel when it has room; wait for room before.
    Send(u32),
    /// Take a message out of a channel; wait for one before.
    Receive(u32),
    /// Let others run first (sched_yield(2)).
    Yield,
    /// Do what follows up to the matching `End` so many times.
    Repeat(u64),
    End,
}

/// How the kernel treats a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    #[default]
    Other,
    Batch,
    Idle,
}

/// A task: which steps, from which channel on it counts, and how the scheduler sees it.
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
    /// A slice of its own, ns (sched_setattr(2)); 0: the scheduler's.
    #[serde(default)]
    pub slice_ns: u64,
    /// When it is created, ns.
    #[serde(default)]
    pub start_ns: u64,
}

/// A whole workload. `room`: messages that each channel holds; `channels`: their names, where they have some. `drained`:
/// of each channel how many messages are left when all who wait for room are woken; without it, or where it is
/// `BY_THE_MESSAGE`, each message that is read wakes the first of them. `lengths`:
/// distributions of times by their quantiles, ns. `kinds`, `measured`: programs that were measured as a whole.
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
    /// Of each kind how its threads wait; none of them do without it.
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

/// Of a channel: who waits for room is woken one by one.
pub const BY_THE_MESSAGE: u32 = u32::MAX;

/// No time of a workload is longer than this, and no simulation (146 years): sums of two of them are numbers still.
pub const MOST_NS: u64 = 1 << 62;

/// Steps of all tasks together, and messages that may wait, are kept below this.
pub const LIMIT_BYTES: u64 = 4 << 30;

fn giga(bytes: &u64) -> f64 {
    *bytes as f64 / 1e9
}

impl Workload {
    /// Refuse what cannot be run, with the reason.
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
    fn what_cannot_be_run_is_refused() {
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
