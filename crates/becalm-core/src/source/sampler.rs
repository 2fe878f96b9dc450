//! States over time (runnable tasks, pressures, frequencies), sampled by a separate thread that costs next to
//! nothing.
//!
//! Totals come from differences between two snapshots; the series shows only the shape in between. Each row
//! has the time and the states that existed at the start; states that come later are left out, states that go
//! become unknown.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::file::Place;
use super::interface::Rows;
use super::pace::{Pace, LARGEST_SHARE};
use super::reader::Reader;
use super::ring::Ring;
use super::series::{qualified, Series};
use super::snapshot::Snapshot;
use super::table::find;
use crate::exec::{clock_ns, now_ns};

/// The sources of states, cheapest first.
pub const STATES: [&str; 3] = ["loadavg", "psi", "frequency"];

/// The work and the cost of a sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub samples: u64,
    /// The number of samples that found the ring full.
    pub dropped: u64,
    /// The number of periods that passed without a sample: the thread woke late, or the share was used up.
    pub skipped: u64,
    /// CPU time of the thread, ns (CLOCK_THREAD_CPUTIME_ID), wake-ups included.
    pub cpu_ns: i64,
    /// The time since the thread started, ns.
    pub elapsed_ns: i64,
    /// The CPU time of opening the files and taking the first two samples before that, ns.
    pub setup_ns: i64,
}

struct Shared {
    ring: Ring,
    stop: AtomicBool,
    paused: AtomicBool,
    /// Whether the thread has noticed the pause; it takes no sample until the pause is over.
    resting: AtomicBool,
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
    /// Sample these sources every `period_ns`, or as rarely as a thousandth of one CPU demands; store up to
    /// `rows` rows until they are taken. The first sample is taken here, by the caller's thread, after one
    /// that opens the files. Unknown names are left out.
    pub fn start(place: &Place, sources: &[&str], period_ns: i64, rows: usize) -> io::Result<Self> {
        let mut names = Vec::new();
        let columns = |first: &Snapshot| -> Box<dyn Rows> {
            names = qualified(first);
            Box::new(Series::new(&names, first))
        };
        let mut made = Self::with(place, sources, (period_ns, LARGEST_SHARE), rows, columns)?;
        made.names = names;
        Ok(made)
    }

    /// Do the same with the caller's own rows. Sampling takes at most `share` of one CPU.
    pub fn with(
        place: &Place,
        sources: &[&str],
        (period_ns, share): (i64, f64),
        rows: usize,
        columns: impl FnOnce(&Snapshot) -> Box<dyn Rows>,
    ) -> io::Result<Self> {
        let begun = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        let mut reader = Reader::new(place, sources.iter().filter_map(|name| find(name)));
        let mut first = reader.snapshot();
        // This second sample shows the usual cost.
        let before = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        reader.sample(&mut first);
        let cost = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) - before;
        let mut columns = columns(&first);
        let row = columns.row(&first);
        let shared = Arc::new(Shared {
            ring: Ring::new(rows, row.len()),
            stop: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            resting: AtomicBool::new(false),
            samples: AtomicU64::new(1),
            skipped: AtomicU64::new(0),
            cpu_ns: AtomicI64::new(0),
        });
        let started_ns = now_ns();
        let pace = Pace::new(started_ns, period_ns, share);
        shared.ring.push(row);
        let setup_ns = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) - begun;
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("becalm-sampler".to_owned())
            .spawn(move || theirs.work(reader, first, columns, pace, cost))?;
        Ok(Self { shared, thread: Some(thread), started_ns, setup_ns, names: Vec::new(), row: Vec::new() })
    }

    /// Take no more samples until `resume`. One that has begun may still come.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::Release);
    }

    /// Continue after a pause. Periods during the pause do not count as skipped.
    pub fn resume(&self) {
        if self.shared.paused.swap(false, Ordering::AcqRel) {
            if let Some(thread) = &self.thread {
                thread.thread().unpark();
            }
        }
    }

    /// Return the names of the numbers of a row after the first, which is the time of reading
    /// (CLOCK_MONOTONIC_RAW, ns).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Hand over the rows sampled so far, oldest first; an unknown value is `UNKNOWN`.
    pub fn take(&mut self, mut each: impl FnMut(&[u64])) {
        while self.shared.ring.pop(&mut self.row) {
            each(&self.row);
        }
    }

    /// Return its work and cost so far.
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

    /// Stop sampling. Rows can still be taken.
    pub fn stop(&mut self) -> Account {
        if let Some(thread) = self.thread.take() {
            self.shared.stop.store(true, Ordering::Release);
            thread.thread().unpark();
            // The thread does not panic; if it did, its rows are still whole.
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
    /// Sleep and sample in turn. A sample is expected to cost as much as the one before, or the average if
    /// that is less: a disturbed sample is paid for, but not expected again.
    fn work(
        &self,
        mut reader: Reader,
        mut snapshot: Snapshot,
        mut columns: Box<dyn Rows>,
        mut pace: Pace,
        mut cost: i64,
    ) {
        let mut spent = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        // Starting the thread and its first sample cost something only once: that must not delay the others
        // for long.
        let mut once = None;
        while !self.stop.load(Ordering::Acquire) {
            if self.paused.load(Ordering::Acquire) {
                self.resting.store(true, Ordering::Release);
                thread::park();
                self.resting.store(false, Ordering::Release);
                pace.resume(now_ns());
                continue;
            }
            let due = pace.next(now_ns(), spent - once.unwrap_or(0), cost);
            self.skipped.store(pace.skipped, Ordering::Relaxed);
            if !self.sleep_until(due) {
                continue;
            }
            reader.sample(&mut snapshot);
            self.ring.push(columns.row(&snapshot));
            let now = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
            let before = self.samples.fetch_add(1, Ordering::Relaxed) as i64;
            (cost, spent) = ((now - spent).min(now / before), now);
            self.cpu_ns.store(spent, Ordering::Relaxed);
            once.get_or_insert(spent);
        }
    }

    /// Sleep until a time; return false if it was stopped or paused meanwhile.
    fn sleep_until(&self, due_ns: i64) -> bool {
        while !self.stop.load(Ordering::Acquire) && !self.paused.load(Ordering::Acquire) {
            match u64::try_from(due_ns - now_ns()) {
                Ok(left) if left > 0 => thread::park_timeout(Duration::from_nanos(left)),
                _ => return true,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::wait_for;
    use std::path::Path;

    #[test]
    fn samples_of_this_machine_arrive_with_names() {
        let mut sampler = Sampler::start(&Place::new(Path::new("/")), &STATES, 1_000_000, 64).unwrap();
        let running = sampler.names().iter().position(|name| name == "loadavg.running").unwrap();
        let mut rows: Vec<Vec<u64>> = Vec::new();
        wait_for(|| sampler.account().samples >= 3);
        let account = sampler.stop();
        sampler.take(|row| rows.push(row.to_vec()));
        assert_eq!(rows.len() as u64, account.samples - account.dropped);
        assert!(rows.windows(2).all(|pair| pair[0][0] < pair[1][0]), "times ascend");
        assert!(rows.iter().all(|row| row[running + 1] >= 1), "it counts itself");
        assert!(account.samples >= 3 && account.cpu_ns > 0);
        assert_eq!(sampler.stop().samples, account.samples);
    }

    #[test]
    fn samples_that_are_not_fetched_are_dropped_and_counted() {
        let mut sampler = Sampler::start(&Place::new(Path::new("/")), &["loadavg"], 1_000, 2).unwrap();
        wait_for(|| sampler.account().dropped >= 2);
        let account = sampler.stop();
        let mut rows = 0;
        sampler.take(|_| rows += 1);
        assert_eq!((rows, account.dropped), (2, account.samples - 2));
    }

    #[test]
    fn a_paused_sampler_takes_nothing_and_goes_on() {
        let mut sampler = Sampler::start(&Place::new(Path::new("/")), &["loadavg"], 1_000_000, 64).unwrap();
        sampler.pause();
        let resting = |sampler: &Sampler| sampler.shared.resting.load(Ordering::Acquire);
        wait_for(|| resting(&sampler));
        let before = (sampler.account().samples, sampler.account().skipped);
        // A thread that is woken without a reason rests again, and has sampled nothing.
        sampler.shared.resting.store(false, Ordering::Release);
        sampler.thread.as_ref().unwrap().thread().unpark();
        wait_for(|| resting(&sampler));
        assert_eq!((sampler.account().samples, sampler.account().skipped), before);
        sampler.resume();
        wait_for(|| sampler.account().samples > before.0);
        sampler.pause();
        sampler.stop();
    }
}
