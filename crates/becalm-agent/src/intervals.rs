//! The load of the machine from one reading to the next, as a record with the same columns and arithmetic as
//! around runs.

use std::path::Path;

use becalm_core::load::counted::{beginnings, SOURCES};
use becalm_core::load::digest::Digest;
use becalm_core::load::Load;
use becalm_core::source::file::Place;
use becalm_core::time::AnyClock;
use serde_json::{json, Map, Value};

use crate::probe::Probe;

/// The readings of one conversation.
pub struct Intervals {
    probe: Probe,
    last: Option<Digest>,
    /// The number of intervals that have ended.
    number: u64,
    /// Unix time minus CLOCK_MONOTONIC_RAW at the beginning, ns.
    epoch_ns: i64,
}

impl Intervals {
    /// Create readings of the machine below a root, without reading it yet.
    pub fn new(root: &Path, clock: &AnyClock) -> Self {
        let epoch_ns = clock.epoch_ns();
        let place = Place::new(root).brief(beginnings).on(clock);
        Self { probe: Probe::new(place), last: None, number: 0, epoch_ns }
    }

    /// Read the machine, and return the fields `load`, `unknown` and `absent` of an answer
    /// (docs/reference/protocol.md). The first reading does not end an interval.
    pub fn read(&mut self) -> Map<String, Value> {
        let (now, cost_ns) = self.probe.read();
        let mut fields = Map::new();
        let load = self.last.replace(now).map(|before| {
            let mut load = Load::between(&before, &now, self.epoch_ns);
            (load.first, load.last, load.cost_ns) = (self.number, self.number, cost_ns);
            // The only sample of the interval is the one at its end.
            if let Some(others) = now.others_running() {
                load.queue.add(others);
            }
            self.number += 1;
            load
        });
        let unknown: Map<String, Value> = load.iter().flat_map(|load| self.unknown(load)).collect();
        let lacking = |source: &str| Some((source.to_owned(), self.probe.lacks(source)?.into()));
        let absent: Map<String, Value> = SOURCES.iter().filter_map(|source| lacking(source)).collect();
        fields.insert("load".to_owned(), json!(load));
        fields.insert("unknown".to_owned(), unknown.into());
        fields.insert("absent".to_owned(), absent.into());
        fields
    }

    fn unknown(&self, load: &Load) -> Vec<(String, Value)> {
        let unknown = load.unknown(|source| self.probe.absent(source));
        unknown.into_iter().map(|(name, why)| (name.to_owned(), why.into())).collect()
    }
}
