//! States over time (runnable tasks, pressures, frequencies), taken by a thread of its own that costs next to nothing.
//!
//! Totals come from differences between two snapshots; the series shows only the shape in between. Each row holds the
//! time and the states as they were named at the start; what came later is not in it, what went is unknown.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::file::Place;
use super::layout::{Layout, UNKNOWN};
use super::pace::{Pace, LARGEST_SHARE};
use super::ring::Ring;
use super::snapshot::Snapshot;
use super::table::find;
use super::Reader;
use crate::exec::{clock_ns, now_ns};

/// Sources of states, cheapest first.
pub const STATES: [&str; 3] = ["loadavg", "psi", "frequency"];

/// What a sampler did and cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub samples: u64,
    /// Samples that found the ring full.
    pub dropped: u64,
    /// Periods that passed without a sample: the thread woke late, or the share was used up.
    pub skipped: u64,
    /// CPU time of the thread, ns (CLOCK_THREAD_CPUTIME_ID), wake-ups included.
    pub cpu_ns: i64,
    /// Since the thread started, ns.
    pub elapsed_ns: i64,
    /// CPU time of opening the files and taking the first two samples, before that, ns.
    pub setup_ns: i64,
}

struct Shared {
    ring: Ring,
    stop: AtomicBool,
    samples: AtomicU64,
    skipped: AtomicU64,
    cpu_ns: AtomicI64,
}

/// A running sampler. It ends when it is stopped or dropped.
pub struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    started_ns: i64,
    setup_ns: i64,
    names: Vec<String>,
    row: Vec<u64>,
}

impl Sampler {
    /// Sample these sources every `period_ns`, or as rarely as a thousandth of one CPU demands; keep `rows` rows that
    /// were not taken yet. The first sample is taken here, by the caller's thread,
    /// after one that opens the files. Unknown names
    /// are left out.
    pub fn start(place: &Place, sources: &[&str], period_ns: i64, rows: usize) -> io::Result<Self> {
        let begun = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        let mut reader = Reader::new(place, sources.iter().filter_map(|name| find(name)));
        let mut first = reader.snapshot();
        let names = qualified(&first);
        // Once more, warm: what a sample costs.
        let before = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        reader.sample(&mut first);
        let cost = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) - before;
        let shared = Arc::new(Shared {
            ring: Ring::new(rows, names.len() + 1),
            stop: AtomicBool::new(false),
            samples: AtomicU64::new(1),
            skipped: AtomicU64::new(0),
            cpu_ns: AtomicI64::new(0),
        });
        let started_ns = now_ns();
        let pace = Pace::new(started_ns, period_ns, LARGEST_SHARE);
        let mut series = Series::new(&names, &first);
        shared.ring.push(series.row(&first));
        let setup_ns = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) - begun;
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("becalm-sampler".to_owned())
            .spawn(move || theirs.work(reader, first, series, pace, cost))?;
        Ok(Self { shared, thread: Some(thread), started_ns, setup_ns, names, row: Vec::new() })
    }

    /// Names of the numbers of a row after the first, which is the time of reading (CLOCK_MONOTONIC_RAW, ns).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Hand over the rows taken so far, oldest first; a value not known is `UNKNOWN`.
    pub fn take(&mut self, mut each: impl FnMut(&[u64])) {
        while self.shared.ring.pop(&mut self.row) {
            each(&self.row);
        }
    }

    /// What it has done until now.
    pub fn account(&self) -> Account {
        Account {
            samples: self.shared.samples.load(Ordering::Relaxed),
            dropped: self.shared.ring.dropped(),
            skipped: self.shared.skipped.load(Ordering::Relaxed),
            cpu_ns: self.shared.cpu_ns.load(Ordering::Relaxed),
            elapsed_ns: now_ns() - self.started_ns,
            setup_ns: self.setup_ns,
        }
    }

    /// End it. Rows can still be taken.
    pub fn stop(&mut self) -> Account {
        if let Some(thread) = self.thread.take() {
            self.shared.stop.store(true, Ordering::Release);
            thread.thread().unpark();
            // It does not panic; if it did, its rows are still whole.
            drop(thread.join());
        }
        self.account()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Sleep, sample, and so on. A sample is expected to cost what the one before did, or what they did on average when
    /// that is less: one that was disturbed is paid for, but not expected again.
    fn work(
        &self,
        mut reader: Reader,
        mut snapshot: Snapshot,
        mut series: Series,
        mut pace: Pace,
        mut cost: i64,
    ) {
        let mut spent = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        loop {
            let due = pace.next(now_ns(), spent, cost);
            self.skipped.store(pace.skipped, Ordering::Relaxed);
            self.sleep_until(due);
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            reader.sample(&mut snapshot);
            self.ring.push(series.row(&snapshot));
            let now = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
            let before = self.samples.fetch_add(1, Ordering::Relaxed) as i64;
            (cost, spent) = ((now - spent).min(now / before), now);
            self.cpu_ns.store(spent, Ordering::Relaxed);
        }
    }

    fn sleep_until(&self, due_ns: i64) {
        while !self.stop.load(Ordering::Acquire) {
            match u64::try_from(due_ns - now_ns()) {
                Ok(left) if left > 0 => thread::park_timeout(Duration::from_nanos(left)),
                _ => return,
            }
        }
    }
}

/// The same columns from every sample, also after the machine has changed.
struct Series {
    names: HashMap<String, usize>,
    layouts: Vec<Arc<Layout>>,
    /// Where each column stands among the sample's values.
    places: Vec<Option<usize>>,
    row: Vec<u64>,
}

impl Series {
    fn new(names: &[String], first: &Snapshot) -> Self {
        let columns = names.iter().enumerate().map(|(column, name)| (name.clone(), column)).collect();
        let mut made = Self {
            names: columns,
            layouts: Vec::new(),
            places: vec![None; names.len()],
            row: vec![UNKNOWN; names.len() + 1],
        };
        made.find(first);
        made
    }

    fn row(&mut self, snapshot: &Snapshot) -> &[u64] {
        let same = |(section, layout): (&super::Section, &Arc<Layout>)| Arc::ptr_eq(&section.layout, layout);
        if !snapshot.sections.iter().zip(&self.layouts).all(same) {
            self.find(snapshot);
        }
        self.row[0] = snapshot.sections.first().map_or(UNKNOWN, |section| section.at_ns as u64);
        for (value, place) in self.row[1..].iter_mut().zip(&self.places) {
            *value = place.map_or(UNKNOWN, |place| snapshot.values[place]);
        }
        &self.row
    }

    fn find(&mut self, snapshot: &Snapshot) {
        self.layouts = snapshot.sections.iter().map(|section| Arc::clone(&section.layout)).collect();
        self.places.fill(None);
        for (place, name) in qualified(snapshot).iter().enumerate() {
            if let Some(column) = self.names.get(name) {
                self.places[*column] = Some(place);
            }
        }
    }
}

/// Names of all values of a snapshot with their sources before them, in the order of the values.
fn qualified(snapshot: &Snapshot) -> Vec<String> {
    let sections = snapshot.sections.iter();
    let names = sections.flat_map(|section| {
        let names = section.layout.names().take(section.len);
        names.map(|(name, _)| format!("{}.{name}", section.name))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn samples_of_this_machine_arrive_with_names() {
        let mut sampler = Sampler::start(&Place::new(Path::new("/")), &STATES, 1_000_000, 64).unwrap();
        let running = sampler.names().iter().position(|name| name == "loadavg.running").unwrap();
        let mut rows: Vec<Vec<u64>> = Vec::new();
        // The time is a limit for a broken sampler, not an expectation.
        let end = now_ns() + 30_000_000_000;
        while rows.len() < 3 && now_ns() < end {
            sampler.take(|row| rows.push(row.to_vec()));
            thread::sleep(Duration::from_millis(2));
        }
        let account = sampler.stop();
        assert!(rows.len() >= 3);
        assert!(rows.windows(2).all(|pair| pair[0][0] < pair[1][0]), "times ascend");
        assert!(rows.iter().all(|row| row[running + 1] >= 1), "it counts itself");
        assert!(account.samples >= 3 && account.cpu_ns > 0);
        assert_eq!(sampler.stop().samples, account.samples);
    }

    #[test]
    fn what_is_not_taken_is_dropped_and_counted() {
        let mut sampler = Sampler::start(&Place::new(Path::new("/")), &["loadavg"], 1_000, 2).unwrap();
        let end = now_ns() + 30_000_000_000;
        while sampler.account().dropped < 2 && now_ns() < end {
            thread::sleep(Duration::from_millis(2));
        }
        let account = sampler.stop();
        let mut rows = 0;
        sampler.take(|_| rows += 1);
        assert_eq!((rows, account.dropped), (2, account.samples - 2));
    }

    #[test]
    fn a_series_keeps_its_columns_when_the_machine_changes() {
        let root = std::env::temp_dir().join(format!("becalm-series-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/pressure")).unwrap();
        let write = |cpu: u32| {
            fs::write(root.join("proc/loadavg"), format!("0.0{cpu} 0.00 0.00 {cpu}/9 1\n")).unwrap();
        };
        write(1);
        fs::write(root.join("proc/pressure/io"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n").unwrap();
        let mut reader =
            Reader::new(&Place::new(&root), ["psi", "loadavg"].iter().filter_map(|name| find(name)));
        let first = reader.snapshot();
        let names = qualified(&first);
        let column = |name: &str| names.iter().position(|found| found == name).unwrap() + 1;
        let mut series = Series::new(&names, &first);
        assert_eq!(series.row(&first)[column("psi.io.some.total_us")], 7);
        fs::remove_file(root.join("proc/pressure/io")).unwrap();
        write(2);
        let second = reader.snapshot();
        let row = series.row(&second);
        assert_eq!(row[column("psi.io.some.total_us")], UNKNOWN);
        assert_eq!(row[column("loadavg.running")], 2);
        fs::remove_dir_all(root).unwrap();
    }
}
