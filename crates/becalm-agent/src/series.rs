//! The samples of one record, and the event made of them: the change of each counter between two samples.

use std::collections::HashMap;

use becalm_core::exec::tree::own;
use becalm_core::load::column::Take;
use becalm_core::load::counted::{COUNTED, STATES};
use becalm_core::load::digest::Digest;
use becalm_core::load::table::{NAMES, TABLE};
use becalm_core::source::file::Place;
use becalm_core::source::processes::Processes;
use becalm_core::source::sampler::Account;
use becalm_core::source::snapshot::{difference, Snapshot};
use becalm_core::source::{table, Reader};
use serde_json::{json, Map, Value};

/// The number of samples above which they are thinned out: every second one of a long run is kept, every
/// fourth of a longer one.
const MOST: usize = 4096;

/// The number of other processes, and of interrupt sources, that are named.
const NAMED: usize = 8;

/// Return the states with a course over time, by name and index in `STATES`; those that must not change have
/// none.
fn states() -> impl Iterator<Item = (&'static str, usize)> {
    let changing = |(_, column): &(usize, &usize)| !matches!(TABLE[**column].take, Take::Count(_));
    STATES.iter().enumerate().filter(changing).map(|(place, column)| (NAMES[*column], place))
}

/// Read the interrupt counts by source and CPU. They are not part of a record's snapshots, since reading them
/// takes half as long as all the rest, and milliseconds on large machines.
fn interrupts(place: &Place) -> Snapshot {
    Reader::new(place, table::find("interrupts").into_iter()).snapshot()
}

/// Return the sources with most interrupts between two snapshots, summed over CPUs, the most frequent first.
fn by_source(before: &Snapshot, after: &Snapshot) -> Vec<Value> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for (name, change) in difference(before, after).into_iter().flat_map(|moved| moved.changes) {
        let source = name.rsplit_once('.').map_or(&*name, |(source, _)| source);
        *counts.entry(source.to_owned()).or_default() += change.unwrap_or(0);
    }
    let mut found: Vec<(String, u64)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    found.sort_unstable_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
    found.truncate(NAMED);
    found.into_iter().map(|(name, count)| json!({"name": name, "count": count})).collect()
}

/// The samples between the beginning and the end of a record.
pub struct Samples {
    place: Place,
    /// The processes and interrupts at the beginning; None if no series is wanted.
    before: Option<(Processes, Snapshot)>,
    taken: Vec<Digest>,
    step: usize,
    seen: usize,
    account: Option<Account>,
}

impl Samples {
    /// Begin with the sampler's account so far; no samples are kept unless they are wanted.
    pub fn new(place: &Place, wanted: bool, account: Option<Account>) -> Self {
        let before = wanted.then(|| (Processes::read(place), interrupts(place)));
        Self { place: place.clone(), before, taken: Vec::new(), step: 1, seen: 0, account }
    }

    /// Add a sample that is later than the previous ones.
    pub fn add(&mut self, digest: Digest) {
        if self.before.is_none() {
            return;
        }
        self.seen += 1;
        if self.seen.is_multiple_of(self.step) {
            self.taken.push(digest);
        }
        if self.taken.len() > MOST {
            let mut index = 0_usize;
            self.taken.retain(|_| {
                index += 1;
                index.is_multiple_of(2)
            });
            self.step *= 2;
        }
    }

    /// Return the fields of the `series` event of the runs `first` to `last`; None if no series is wanted.
    pub fn event(
        &self,
        (first, last): (u64, u64),
        (begin, end): (&Digest, &Digest),
        account: Option<Account>,
    ) -> Option<Map<String, Value>> {
        let (processes, interrupted) = self.before.as_ref()?;
        let others = Processes::read(&self.place).since(processes, NAMED, &own());
        let named =
            others.iter().map(|each| json!({"pid": each.pid, "name": each.name, "cpu_ns": each.cpu_ns}));
        let since = |of: fn(&Account) -> u64| match (&self.account, &account) {
            (Some(then), Some(now)) => of(now).saturating_sub(of(then)),
            (None, Some(now)) => of(now),
            _ => 0,
        };
        let columns = self.columns(begin, end);
        let names: Vec<&str> =
            states().map(|(name, _)| name).chain(columns.iter().map(|(name, _)| *name)).collect();
        let consumers: Vec<Value> = named.collect();
        let Value::Object(fields) = json!({
            "event": "series", "first": first, "last": last, "names": names,
            "rows": self.rows(begin, end, &columns),
            "dropped": since(|account| account.dropped), "skipped": since(|account| account.skipped),
            "consumers": consumers,
            "interrupts": by_source(interrupted, &interrupts(&self.place)),
        }) else {
            return None;
        };
        Some(fields)
    }

    /// Return the counters that are known in some interval, by name and index.
    fn columns(&self, begin: &Digest, end: &Digest) -> Vec<(&'static str, usize)> {
        let known = |(place, column): (usize, &usize)| {
            let known = end.since(begin, place).is_ok()
                || self.taken.iter().any(|each| each.since(begin, place).is_ok());
            known.then_some((NAMES[*column], place))
        };
        COUNTED.iter().enumerate().filter_map(known).collect()
    }

    /// Return the rows: the first one is the beginning, and each other one has the changes since the previous
    /// one.
    fn rows(&self, begin: &Digest, end: &Digest, columns: &[(&'static str, usize)]) -> Vec<Value> {
        let mut rows = Vec::with_capacity(self.taken.len() + 2);
        let mut before = begin;
        for (index, now) in [begin].into_iter().chain(&self.taken).chain([end]).enumerate() {
            let sampled = index > 0 && index <= self.taken.len();
            let state = |(_, place): (&str, usize)| match TABLE[STATES[place]].take {
                // The program does not run at both ends, so its run queue is unknown there.
                Take::Sampled(_) => json!(now.others_running().filter(|_| sampled)),
                _ => json!(now.state(place)),
            };
            let mut row = vec![json!(now.at_ns() - begin.at_ns())];
            row.extend(states().map(state));
            let moved = |(_, place): &(&str, usize)| {
                json!((index > 0).then(|| now.since(before, *place).ok()).flatten())
            };
            row.extend(columns.iter().map(moved));
            rows.push(Value::Array(row));
            before = now;
        }
        rows
    }
}
