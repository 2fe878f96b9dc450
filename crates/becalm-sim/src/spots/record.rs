//! The noun of the detector of sweet spots: `Record`, what one CPU said at one moment. Sources make records, `detect` reads them.
//!
//! Every record carries the two counters of its CPU, references and misses of the last-level cache in user mode, counted
//! from any beginning and never set back: a reader uses differences only. A stream is in order of time; of one CPU its
//! records are in order in any case. A record that steps back in time, a counter that falls and records that were lost make
//! windows unknown, never zero.

use serde::{Deserialize, Serialize};

/// A task by its thread id. 0 is the idle task of any CPU. An id may be given again after `Exit`: that is another task.
pub type Task = u32;

/// The idle task, one on each CPU, all with one id.
pub const IDLE: Task = 0;

/// What one CPU said at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Nanoseconds of one clock for all CPUs.
    pub time_ns: u64,
    pub cpu: u32,
    pub what: What,
    /// References of this CPU until now, cumulative, user mode; of which events, the source says.
    pub references: u64,
    /// Misses among them, cumulative.
    pub misses: u64,
}

/// What happened. Tasks are ids of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// `out` leaves the CPU and `to` runs from now on; the counters until now belong to `out`. Preempted: `out` could
    /// have gone on (misc bit 14 of PERF_RECORD_SWITCH), otherwise it waits for something.
    Switch { out: Task, to: Task, preempted: bool },
    /// Counters read while the CPU goes on with the same task, once in a window or oftener.
    Tick,
    /// `child` exists from now on, as a thread of `process`, which is its own id for a new process. Of threads that were
    /// there before the first record a source says the same, with parent 0.
    Fork { parent: Task, child: Task, process: Task },
    /// The task begins another program: nothing that it had in a cache is used again.
    Exec { task: Task },
    /// The task has ended; its last switch out may follow or have gone before.
    Exit { task: Task },
    /// A mark that the program set itself, by its number (the thesis's signal 1).
    Mark { task: Task, number: u32 },
    /// The task belongs to CPU `to` from now on; said while it waits, or before the switch that lets it run there.
    Moved { task: Task, from: u32, to: u32 },
    /// Since this CPU's record before this one some were lost: which tasks ran there meanwhile is not known, nor who runs
    /// now, until its next switch. The counters are right.
    Lost,
    /// The CPU counts no longer (taken offline) or, with its next record, counts again from anywhere.
    Offline,
}

impl Record {
    /// A switch from `out` to `to`, the counters being `counts`: references, misses.
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
    fn a_record_has_one_form_of_json() {
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
    fn a_field_that_it_does_not_know_is_refused() {
        let text = r#"{"time_ns":0,"cpu":0,"what":"tick","references":0,"misses":0,"hits":0}"#;
        assert!(serde_json::from_str::<Record>(text).is_err());
    }
}
