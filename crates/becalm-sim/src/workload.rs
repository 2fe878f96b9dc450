//! What is run: tasks as state machines, in one small language, and the channels between them.
//!
//! A task is a list of steps that it goes through from the first to the last; `Repeat` runs the steps after it, up to its
//! `End`, so many times. Channels are numbered; a task names them relative to its own first one, so that many tasks
//! share one list. `hackbench` and the others below make such workloads; a file of a person is one (`Definition`).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One step of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Use the CPU for so long, ns.
    Compute(u64),
    /// Wait for so long, ns.
    Sleep(u64),
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

/// A whole workload. `room`: messages that each channel holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Workload {
    pub programs: Vec<Vec<Step>>,
    pub tasks: Vec<TaskDefinition>,
    #[serde(default)]
    pub room: Vec<u32>,
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
    #[error("{what} would need about {bytes} bytes; {limit} are allowed.")]
    TooLarge { what: String, bytes: u64, limit: u64 },
}

/// Steps of all tasks together, and messages that may wait, are kept below this.
pub const LIMIT_BYTES: u64 = 4 << 30;

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
        for task in &self.tasks {
            let Some(steps) = self.programs.get(task.program as usize) else {
                let programs = self.programs.len();
                return Err(WorkloadError::NoProgram {
                    task: task.name.clone(),
                    program: task.program,
                    programs,
                });
            };
            for step in steps {
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

/// hackbench of rt-tests: groups of `fan` senders and as many receivers; each sender writes `loops` messages to each
/// receiver of its group. `room`: messages that a socket holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hackbench {
    pub groups: u32,
    pub fan: u32,
    pub loops: u64,
    pub room: u32,
    pub nice: i8,
    pub class: Class,
    pub slice_ns: u64,
}

impl Default for Hackbench {
    fn default() -> Self {
        Self { groups: 10, fan: 20, loops: 100, room: 270, nice: 0, class: Class::Other, slice_ns: 0 }
    }
}

impl Hackbench {
    /// Messages in all.
    pub fn messages(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.fan) * u64::from(self.fan) * self.loops
    }

    /// Refuse what would not fit into memory, before it is made.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let tasks = 2 * u64::from(self.groups) * u64::from(self.fan);
        let bytes = tasks.saturating_mul(512 + 4 * u64::from(self.room));
        if bytes > LIMIT_BYTES || self.loops.checked_mul(u64::from(self.fan)).is_none() {
            return Err(WorkloadError::TooLarge {
                what: format!("{} groups", self.groups),
                bytes,
                limit: LIMIT_BYTES,
            });
        }
        Ok(())
    }

    pub fn workload(&self) -> Workload {
        let mut sender = vec![Step::Repeat(self.loops)];
        sender.extend((0..self.fan).map(Step::Send));
        sender.push(Step::End);
        let receiver = vec![Step::Repeat(self.loops * u64::from(self.fan)), Step::Receive(0), Step::End];
        let mut tasks = Vec::new();
        // As hackbench makes them: of each group first the receivers, then the senders.
        for group in 0..self.groups {
            let first = group * self.fan;
            for number in 0..self.fan {
                tasks.push(task(format!("receiver {group}.{number}"), 1, first + number));
            }
            for number in 0..self.fan {
                tasks.push(task(format!("sender {group}.{number}"), 0, first));
            }
        }
        for each in &mut tasks {
            (each.nice, each.class, each.slice_ns) = (self.nice, self.class, self.slice_ns);
        }
        let room = vec![self.room; (self.groups * self.fan) as usize];
        Workload { programs: vec![sender, receiver], tasks, room }
    }
}

fn task(name: String, program: u32, channel: u32) -> TaskDefinition {
    TaskDefinition { name, program, channel, nice: 0, class: Class::Other, slice_ns: 0, start_ns: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hackbench_is_senders_and_receivers_in_groups() {
        let bench = Hackbench { groups: 20, loops: 1000, ..Hackbench::default() };
        assert_eq!(bench.messages(), 8_000_000);
        let made = bench.workload();
        assert_eq!((made.tasks.len(), made.room.len(), made.programs.len()), (800, 400, 2));
        assert_eq!(made.check(), Ok(()));
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let spin = |steps: Vec<Step>| Workload {
            programs: vec![steps],
            tasks: vec![task("a".into(), 0, 0)],
            room: vec![1],
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
        let mut lost = spin(vec![]);
        lost.tasks[0].program = 3;
        assert_eq!(lost.check(), Err(WorkloadError::NoProgram { task: "a".into(), program: 3, programs: 1 }));
    }
}
