//! The input of the detector: a `Record` of an event on one CPU. Sources produce records, and `detect` reads
//! them.
//!
//! Every record carries the two counters of its CPU, references and misses of the last-level cache in user
//! mode. They start at any value and are never reset; readers use differences only. A stream is in order of
//! time, and the records of one CPU are in order in any case. A record that steps back in time, a counter
//! that falls, and lost records make windows unknown and never zero.

use serde::{Deserialize, Serialize};

/// A thread id; 0 is the idle task of any CPU. An id that is reused after `Exit` is another task.
pub type Task = u32;

/// The idle task; those of all CPUs have the same id.
pub const IDLE: Task = 0;

/// An event on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The time in ns, from one clock for all CPUs.
    pub time_ns: u64,
    pub cpu: u32,
    pub what: What,
    /// The references of this CPU so far, cumulative, in user mode; the source defines the event.
    pub references: u64,
    /// The misses among them, cumulative.
    pub misses: u64,
}

/// The kind of an event. Tasks are thread ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// Task `out` leaves the CPU and `to` runs from now on; the counts so far belong to `out`. If preempted,
    /// `out` could have continued (misc bit 14 of PERF_RECORD_SWITCH); otherwise it waits.
    Switch { out: Task, to: Task, preempted: bool },
    /// The counters were read while the same task goes on, at least once per window.
    Tick,
    /// Task `child` exists from now on, as a thread of `process`, which is its own id if it is a new process.
    /// Sources report threads that existed before the first record in the same way, with parent 0.
    Fork { parent: Task, child: Task, process: Task },
    /// The task executes another program, which uses nothing that the task has in a cache.
    Exec { task: Task },
    /// The task has ended; its last switch away may come before or after this record.
    Exit { task: Task },
    /// The program set a mark with this number (signal 1 of the thesis).
    Mark { task: Task, number: u32 },
    /// The task belongs to CPU `to` from now on; reported while it waits, or before the switch by which it
    /// runs there.
    Moved { task: Task, from: u32, to: u32 },
    /// Records of this CPU since its previous one were lost: the tasks that ran there are unknown, and so is
    /// the current one until the next switch. The counters are right.
    Lost,
    /// The CPU stops counting (taken offline) or, with its next record, starts again from any value.
    Offline,
}

impl Record {
    /// Create a record of a switch from `out` to `to`, with `counts` as references and misses.
    pub fn switch(
        time_ns: u64,
        cpu: u32,
        (out, to): (Task, Task),
        preempted: bool,
        counts: (u64, u64),
    ) -> Self {
        Self::new(time_ns, cpu, What::Switch { out, to, preempted }, counts)
    }

    pub fn new(time_ns: u64, cpu: u32, what: What, (references, misses): (u64, u64)) -> Self {
        Self { time_ns, cpu, what, references, misses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_exactly_one_json_form() {
        let record = Record::switch(5_000_000, 1, (7, IDLE), true, (100, 9));
        let text = serde_json::to_string(&record).expect("plain data");
        assert_eq!(
            text,
            r#"{"time_ns":5000000,"cpu":1,"what":{"switch":{"out":7,"to":0,"preempted":true}},"references":100,"misses":9}"#
        );
        assert_eq!(serde_json::from_str::<Record>(&text).expect("its own form"), record);
        assert_eq!(
            serde_json::to_string(&Record::new(0, 0, What::Tick, (0, 0)).what).expect("plain data"),
            r#""tick""#
        );
    }

    #[test]
    fn an_unknown_field_is_rejected() {
        let text = r#"{"time_ns":0,"cpu":0,"what":"tick","references":0,"misses":0,"hits":0}"#;
        assert!(serde_json::from_str::<Record>(text).is_err());
    }
}
