//! The record of the counts while programs ran: the columns of the agent's `loads` event.
//!
//! `table` lists them, each a `column`. `counted` decides which values of the sources are the counters of a
//! record, `machine` makes a `digest` of a snapshot, and the difference of two digests; `own` sums the
//! kernel's accounts of the programs themselves, `own_cpus` has the activity of the CPUs that they could use,
//! `family` finds the ended tasks that belong to them, and `exit` the time of an end. A `Load` is one record.
//! The agent's observer makes them.

pub mod column;
pub mod counted;
pub mod digest;
pub mod exit;
pub mod family;
pub mod machine;
pub mod own;
pub mod own_cpus;
pub mod table;

use column::Take;
use counted::{COUNTED, STATES};
use digest::{Change, Digest};
use own::Own;
use own_cpus::OwnCpus;
use serde::{Serialize, Serializer};
use table::TABLE;

use crate::source::snapshot::Unknown;

/// The samples of the run queue, without the sampler itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    pub sum: u64,
    pub peak: u64,
    pub samples: u64,
}

impl Queue {
    /// Add a sample of the number of runnable tasks, the sampler left out.
    pub fn add(&mut self, others: u64) {
        self.sum += others;
        self.peak = self.peak.max(others);
        self.samples += 1;
    }

    /// Return the mean to four decimals.
    fn mean(&self) -> f64 {
        (self.sum as f64 / self.samples as f64 * 1e4).round() / 1e4
    }
}

/// The counts around the runs `first` to `last`. An unknown value has a reason, and is never zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    pub first: u64,
    pub last: u64,
    /// Unix time, ns.
    pub started_ns: i64,
    pub interval_ns: i64,
    /// The differences, by the columns `COUNTED`.
    pub counted: [Change; COUNTED.len()],
    /// The states at both ends, by the columns `STATES`.
    pub states: [Change; STATES.len()],
    pub queue: Queue,
    pub own: Own,
    pub own_cpus: Option<OwnCpus>,
    /// The CPU time that observing took, ns.
    pub cost_ns: i64,
}

/// A value of a column.
#[derive(Serialize)]
#[serde(untagged)]
enum Cell {
    Integer(i64),
    Real(f64),
    Word(&'static str),
}

impl Load {
    /// Build the load between two digests. `epoch_ns`: Unix time minus CLOCK_MONOTONIC_RAW.
    pub fn between(begin: &Digest, end: &Digest, epoch_ns: i64) -> Self {
        Self {
            first: 0,
            last: 0,
            started_ns: begin.at_ns() + epoch_ns,
            interval_ns: end.at_ns() - begin.at_ns(),
            counted: end.difference(begin),
            states: end.states(begin),
            queue: Queue::default(),
            own: Own::default(),
            own_cpus: None,
            cost_ns: 0,
        }
    }

    /// Append the record as a JSON array in the order of the table.
    pub fn write(&self, out: &mut Vec<u8>) {
        // Writing numbers and words to a Vec cannot fail.
        drop(serde_json::to_writer(out, self));
    }

    /// Return why columns of the machine are unknown, by name. `absent` returns the reason for a source.
    pub fn unknown(&self, absent: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
        let counted = COUNTED.iter().zip(&self.counted);
        let states = STATES.iter().zip(&self.states);
        // A sampled value is unknown for lack of samples, which is not the source's fault.
        let states = states.filter(|(column, _)| !matches!(TABLE[**column].take, Take::Sampled(_)));
        let unknown = counted.chain(states).filter_map(|(column, change)| Some((*column, change.err()?)));
        let words = |(column, why): (usize, Unknown)| {
            let row = &TABLE[column];
            let known = match why {
                Unknown::Unread => absent(row.source),
                Unknown::Number => Some(format!("{} {}", row.unit, why.words())),
                _ => None,
            };
            (row.name, known.unwrap_or_else(|| why.words().to_owned()))
        };
        unknown.map(words).collect()
    }

    fn cell(&self, index: usize) -> Option<Cell> {
        let row = &TABLE[index];
        let place = |of: &[usize]| of.iter().position(|column| *column == index);
        let integer = |value: u64| Cell::Integer(value as i64);
        match row.take {
            Take::Sum { .. } => self.counted[place(&COUNTED)?].ok().map(integer),
            Take::Count(_) | Take::Mean(_) => self.states[place(&STATES)?].ok().map(integer),
            Take::Sampled(_) => (self.queue.samples > 0).then(|| Cell::Real(self.queue.mean())),
            Take::Given => self.given(row.name),
        }
    }

    /// Return a column that no source provides.
    fn given(&self, name: &str) -> Option<Cell> {
        let own = &self.own;
        let value = match name {
            "first" => Some(self.first),
            "last" => Some(self.last),
            "started_ns" => return Some(Cell::Integer(self.started_ns)),
            "interval_ns" => return Some(Cell::Integer(self.interval_ns)),
            "cost_ns" => return Some(Cell::Integer(self.cost_ns)),
            "scope" => return Some(Cell::Word(own.scope.word())),
            "queue_peak" => (self.queue.samples > 0).then_some(self.queue.peak),
            "samples" => Some(self.queue.samples),
            "level" => Some(own.level),
            "quota_ns" => own.quota_ns,
            "own_cpu_pressure_ns" => own.pressure_ns[0],
            "own_io_pressure_ns" => own.pressure_ns[1],
            "own_memory_pressure_ns" => own.pressure_ns[2],
            "tasks" => own.tasks,
            "lost" => own.lost,
            "own_cpus" => self.own_cpus.map(|cpus| cpus.count),
            "own_cpus_busy_ns" => self.own_cpus.map(|cpus| cpus.busy_ns),
            "own_cpus_steal_ns" => self.own_cpus.map(|cpus| cpus.steal_ns),
            "counters_scope" => return own.counts.scope().map(Cell::Word),
            name => own.delays.value(name).or_else(|| own.counts.value(name)),
        };
        value.map(|value| Cell::Integer(value as i64))
    }
}

impl Serialize for Load {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..table::WIDTH).map(|index| self.cell(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::delays::DELAYS;
    use crate::source::perf_events::{Counts, COUNTS};
    use table::NAMES;

    #[test]
    fn a_record_is_json_in_the_order_of_the_columns() {
        let mut counted = [Err(Unknown::Backwards); COUNTED.len()];
        counted[0] = Ok(70);
        let mut states = [Err(Unknown::Unread); STATES.len()];
        states[0] = Ok(2);
        let mut queue = Queue::default();
        queue.add(2);
        queue.add(1);
        let (own, cost_ns) = (Own::default(), 11);
        let (first, last, started_ns, interval_ns, own_cpus) = (3, 9, 5, 6, None);
        let load =
            Load { first, last, started_ns, interval_ns, counted, states, queue, own, own_cpus, cost_ns };
        let mut out = Vec::new();
        load.write(&mut out);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let list = value.as_array().unwrap();
        assert_eq!(list.len(), table::WIDTH);
        let at = |name: &str| &list[NAMES.iter().position(|column| *column == name).unwrap()];
        assert_eq!((at("last"), at("busy_ns"), at("cost_ns")), (&9.into(), &70.into(), &11.into()));
        assert_eq!((at("queue"), at("queue_peak"), at("samples")), (&1.5.into(), &2.into(), &2.into()));
        assert_eq!((at("scope"), at("cpus")), (&"leader".into(), &2.into()));
        for unknown in ["steal_ns", "frequency_khz", "exec_ns", "lost", "quota_ns"] {
            assert!(at(unknown).is_null(), "{unknown}");
        }
        let why = load.unknown(|source| (source == "frequency").then(|| "no such file".to_owned()));
        let of = |name: &str| why.iter().find(|(found, _)| *found == name).map(|(_, why)| &**why);
        assert_eq!((of("steal_ns"), of("busy_ns")), (Some(Unknown::Backwards.words()), None));
        assert_eq!((of("frequency_khz"), of("queue")), (Some("no such file"), None));
    }

    #[test]
    fn the_table_has_all_delays_and_counts_of_the_kernel() {
        let rows = TABLE.iter().filter(|row| row.source == "taskstats" && row.unit == "ns");
        assert!(rows.map(|row| row.name).eq(DELAYS));
        let rows = TABLE.iter().filter(|row| row.source == "counters" && row.name != "counters_scope");
        assert!(rows.map(|row| row.name).eq(COUNTS));
    }

    #[test]
    fn every_column_that_nobody_reads_is_given() {
        let counts = Counts { kernel: Some(true), ..Counts::ZERO };
        let own = Own { counts, quota_ns: Some(0), pressure_ns: [Some(0); 3], ..Own::none_yet() };
        let digest = Digest([0; digest::WIDTH]);
        let own_cpus = Some(OwnCpus { count: 1, busy_ns: 0, steal_ns: 0 });
        let mut load = Load { own, own_cpus, ..Load::between(&digest, &digest, 0) };
        load.queue.add(0);
        for (index, row) in TABLE.iter().enumerate() {
            assert!(load.cell(index).is_some(), "{}", row.name);
        }
    }
}
