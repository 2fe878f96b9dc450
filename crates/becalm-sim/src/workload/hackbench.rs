//! The benchmark hackbench of rt-tests as a workload.

use serde::{Deserialize, Serialize};

use super::{Class, Step, TaskDefinition, Workload, WorkloadError, BY_THE_MESSAGE, LIMIT_BYTES};

/// The parameters of hackbench: groups of `fan` senders and as many receivers. Each sender writes `loops`
/// messages to each receiver of its group.
///
/// `room` is the number of messages that a socket holds. `drained` is the number left at which all writers
/// that wait for room wake up, in Linux a quarter (unix_writable in net/unix/af_unix.c); with
/// `BY_THE_MESSAGE` each message read wakes the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hackbench {
    pub groups: u32,
    pub fan: u32,
    pub loops: u64,
    pub room: u32,
    pub drained: u32,
    pub nice: i8,
    pub class: Class,
    pub slice_ns: u64,
}

impl Default for Hackbench {
    fn default() -> Self {
        let drained = BY_THE_MESSAGE;
        Self {
            groups: 10,
            fan: 20,
            loops: 100,
            room: 270,
            drained,
            nice: 0,
            class: Class::Other,
            slice_ns: 0,
        }
    }
}

impl Hackbench {
    /// Return the total number of messages.
    pub fn messages(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.fan) * u64::from(self.fan) * self.loops
    }

    /// Check that the workload fits into memory, before it is built.
    ///
    /// # Errors
    /// Fails with `TooLarge` if it does not.
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
        // As in hackbench, the receivers of each group are created before its senders.
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
        let channels = (self.groups * self.fan) as usize;
        let (room, drained) = (vec![self.room; channels], vec![self.drained; channels]);
        Workload { programs: vec![sender, receiver], tasks, room, drained, ..Workload::default() }
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
}
