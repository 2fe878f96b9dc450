//! The record of what was counted while programs ran: the columns of the agent's `loads` event.
//!
//! `table` lists them, each a `column`. `counted` says which values of the sources are the counters of a record, `machine` makes a `digest` of a snapshot, and
//! of two digests their difference; `own` sums what the kernel tells of the programs themselves, `family` finds out which
//! ended tasks those are. A `Load` is one record. The agent's observer makes them.

pub mod column;
pub mod counted;
pub mod digest;
pub mod family;
pub mod machine;
pub mod own;
pub mod table;

use std::io::Write;

use counted::COUNTED;
use digest::Change;
use own::Own;
use table::NAMES;

/// What the samples of the run queue say: the sampler itself left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    pub sum: u64,
    pub peak: u64,
    pub samples: u64,
}

impl Queue {
    /// Take a sample of the number of runnable tasks, in which the sampler is counted.
    pub fn add(&mut self, running: u64) {
        let others = running.saturating_sub(1);
        self.sum += others;
        self.peak = self.peak.max(others);
        self.samples += 1;
    }
}

/// What was counted around the runs `first` to `last`. None is unknown, never zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    pub first: u64,
    pub last: u64,
    /// Unix time, ns.
    pub started_ns: i64,
    pub interval_ns: i64,
    pub cpus: Option<u64>,
    pub frequency_khz: Option<u64>,
    /// Differences, by the columns `COUNTED`.
    pub counted: [Change; COUNTED.len()],
    pub queue: Queue,
    pub own: Own,
    /// CPU time that observing took, ns.
    pub cost_ns: i64,
}

impl Load {
    /// Append the record as a JSON array in the order of the table.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (index, name) in NAMES.iter().enumerate() {
            out.push(if index == 0 { b'[' } else { b',' });
            match *name {
                "queue" => {
                    let mean =
                        (self.queue.samples > 0).then(|| self.queue.sum as f64 / self.queue.samples as f64);
                    match mean {
                        // Writing to a Vec cannot fail.
                        Some(mean) => drop(write!(out, "{mean:.4}")),
                        None => out.extend_from_slice(b"null"),
                    }
                }
                "scope" => drop(write!(out, "\"{}\"", self.own.scope.word())),
                name => match self.number(name) {
                    Some(value) => drop(write!(out, "{value}")),
                    None => out.extend_from_slice(b"null"),
                },
            }
        }
        out.push(b']');
    }

    fn number(&self, name: &str) -> Option<i64> {
        if let Some(column) = COUNTED.iter().position(|counted| *counted == name) {
            return self.counted[column].ok().map(|value| value as i64);
        }
        let own = &self.own;
        let value = match name {
            "first" => Some(self.first),
            "last" => Some(self.last),
            "started_ns" => return Some(self.started_ns),
            "interval_ns" => return Some(self.interval_ns),
            "cost_ns" => return Some(self.cost_ns),
            "cpus" => self.cpus,
            "frequency_khz" => self.frequency_khz,
            "queue_peak" => (self.queue.samples > 0).then_some(self.queue.peak),
            "samples" => Some(self.queue.samples),
            "level" => Some(own.level),
            "quota_ns" => own.quota_ns,
            "own_cpu_pressure_ns" => own.pressure_ns[0],
            "own_io_pressure_ns" => own.pressure_ns[1],
            "own_memory_pressure_ns" => own.pressure_ns[2],
            "tasks" => own.tasks,
            "lost" => own.lost,
            name => own.delays.value(name),
        };
        value.map(|value| value as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::snapshot::Unknown;

    #[test]
    fn a_record_is_json_in_the_order_of_the_columns() {
        let mut counted = [Err(Unknown::Backwards); COUNTED.len()];
        counted[0] = Ok(70);
        let mut queue = Queue::default();
        queue.add(3);
        queue.add(2);
        let load = Load {
            first: 3,
            last: 9,
            started_ns: 5,
            interval_ns: 6,
            cpus: Some(2),
            frequency_khz: None,
            counted,
            queue,
            own: Own::default(),
            cost_ns: 11,
        };
        let mut out = Vec::new();
        load.write(&mut out);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let list = value.as_array().unwrap();
        assert_eq!(list.len(), table::WIDTH);
        let at = |name: &str| &list[table::NAMES.iter().position(|column| *column == name).unwrap()];
        assert_eq!((at("last"), at("busy_ns"), at("cost_ns")), (&9.into(), &70.into(), &11.into()));
        assert_eq!((at("queue"), at("queue_peak"), at("samples")), (&1.5.into(), &2.into(), &2.into()));
        assert_eq!(at("scope"), "leader");
        for unknown in ["steal_ns", "frequency_khz", "exec_ns", "lost", "quota_ns"] {
            assert!(at(unknown).is_null(), "{unknown}");
        }
    }

    #[test]
    fn every_column_has_a_value_somewhere() {
        let named = |name: &&str| table::NAMES.contains(name);
        assert!(COUNTED.iter().all(named));
        assert!(own::DELAYS.iter().all(named));
    }
}
