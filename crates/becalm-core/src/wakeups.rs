//! A workload that shows how soon the kernel runs a thread that was woken: messengers wake workers, which do a little
//! work and answer.
//!
//! The pattern is that of schbench: each messenger has its own workers, wakes every one that has answered,
//! and sleeps while none has. A worker records the time from its waking until it ran (the wake-up), and until
//! its work was done (the request). Threads sleep in `park` (futex), so only the time of the scheduler and of
//! the work is measured.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::exec::now_ns;

/// The load to run: a number of `messengers` with a number of `workers` each; each worker serves `requests`
/// at most, and a request is `work` dependent additions. It ends after `limit` in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wakeups {
    pub messengers: u32,
    pub workers: u32,
    pub requests: u64,
    pub work: u64,
    pub limit: Duration,
}

/// The times of all wake-ups or requests in µs, by the nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub max: f64,
}

/// The result. `complete`: every worker served all of its requests before the limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Served {
    pub requests: u64,
    pub seconds: f64,
    pub requests_per_second: f64,
    pub complete: bool,
    pub wakeup_us: Percentiles,
    pub request_us: Percentiles,
}

/// The shared state of a messenger and one of its workers.
#[derive(Default)]
struct Slot {
    /// The time when the worker was last woken, CLOCK_MONOTONIC_RAW in ns; 0: there is no request, END: it
    /// must end.
    asked_ns: AtomicU64,
    answered: AtomicBool,
}

const END: u64 = u64::MAX;

/// The times of one worker, ns; a wake-up that takes longer than 4 s counts as that long.
#[derive(Default)]
struct Times {
    wakeups: Vec<u32>,
    requests: Vec<u32>,
}

/// Run the load. An error if threads cannot be started.
pub fn run(asked: &Wakeups) -> io::Result<Served> {
    let begun = Instant::now();
    let until = begun.checked_add(asked.limit);
    let mut messengers: Vec<JoinHandle<io::Result<Vec<Times>>>> = Vec::new();
    for _ in 0..asked.messengers {
        let asked = *asked;
        messengers.push(thread::Builder::new().spawn(move || message(&asked, until))?);
    }
    let mut times = Times::default();
    for messenger in messengers {
        let mine = messenger.join().map_err(|_| io::Error::other("a thread of it panicked"))??;
        for each in mine {
            times.wakeups.extend(each.wakeups);
            times.requests.extend(each.requests);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let requests = times.requests.len() as u64;
    let wanted = u64::from(asked.messengers) * u64::from(asked.workers) * asked.requests;
    Ok(Served {
        requests,
        seconds,
        requests_per_second: requests as f64 / seconds,
        complete: requests == wanted,
        wakeup_us: percentiles(&mut times.wakeups),
        request_us: percentiles(&mut times.requests),
    })
}

/// Run one messenger with its workers; return their times.
fn message(asked: &Wakeups, until: Option<Instant>) -> io::Result<Vec<Times>> {
    let mut workers: Vec<(Arc<Slot>, Thread, JoinHandle<Times>, u64)> = Vec::new();
    for _ in 0..asked.workers {
        let slot = Arc::new(Slot { answered: AtomicBool::new(true), ..Slot::default() });
        let (own, messenger, work) = (Arc::clone(&slot), thread::current(), asked.work);
        // More room than needed costs only memory that nobody touches.
        let room = usize::try_from(asked.requests).unwrap_or(0).min(1 << 22);
        match thread::Builder::new().spawn(move || serve(&own, &messenger, work, room)) {
            Ok(worker) => workers.push((slot, worker.thread().clone(), worker, asked.requests)),
            Err(error) => {
                for (slot, worker, ..) in &workers {
                    slot.asked_ns.store(END, Ordering::Release);
                    worker.unpark();
                }
                return Err(error);
            }
        }
    }
    let mut busy = workers.len();
    while busy > 0 {
        let over = until.is_some_and(|until| Instant::now() >= until);
        let mut found = false;
        for (slot, worker, _, left) in &mut workers {
            if !slot.answered.swap(false, Ordering::AcqRel) {
                continue;
            }
            found = true;
            let end = *left == 0 || over;
            *left = left.saturating_sub(1);
            busy -= usize::from(end);
            slot.asked_ns.store(if end { END } else { now_ns().max(1) as u64 }, Ordering::Release);
            worker.unpark();
        }
        if !found {
            thread::park();
        }
    }
    let ended = workers.into_iter().map(|(.., worker, _)| worker.join());
    ended.collect::<Result<Vec<_>, _>>().map_err(|_| io::Error::other("a thread of it panicked"))
}

/// Run one worker until it must end.
fn serve(slot: &Slot, messenger: &Thread, work: u64, room: usize) -> Times {
    let mut times = Times { wakeups: Vec::with_capacity(room), requests: Vec::with_capacity(room) };
    loop {
        match slot.asked_ns.swap(0, Ordering::AcqRel) {
            0 => thread::park(),
            END => return times,
            asked_ns => {
                times.wakeups.push(since(asked_ns));
                let mut value = 0_u64;
                for index in 0..work {
                    value = black_box(value.wrapping_add(index));
                }
                black_box(value);
                times.requests.push(since(asked_ns));
                slot.answered.store(true, Ordering::Release);
                messenger.unpark();
            }
        }
    }
}

/// Return the time since a moment, ns; at least one.
fn since(asked_ns: u64) -> u32 {
    u32::try_from((now_ns() as u64).saturating_sub(asked_ns)).unwrap_or(u32::MAX).max(1)
}

/// Return the percentiles by the nearest rank: the smallest value with at least that share of values not
/// above it.
fn percentiles(times: &mut [u32]) -> Percentiles {
    times.sort_unstable();
    let at = |share: f64| {
        let rank = (share * times.len() as f64).ceil() as usize;
        times.get(rank.max(1) - 1).map_or(0.0, |ns| f64::from(*ns) / 1e3)
    };
    Percentiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), p99_9: at(0.999), max: at(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Wakeups {
        Wakeups { messengers: 2, workers: 3, requests: 50, work: 10, limit: Duration::from_secs(60) }
    }

    #[test]
    fn every_worker_serves_all_of_its_requests() {
        let served = run(&small()).unwrap();
        assert_eq!(served.requests, 300);
        assert!(served.complete);
        for found in [served.wakeup_us, served.request_us] {
            assert!(found.p50 > 0.0);
            assert!(found.p50 <= found.p90 && found.p90 <= found.p99 && found.p99 <= found.p99_9);
            assert!(found.p99_9 <= found.max);
        }
        assert!(
            served.request_us.max >= served.wakeup_us.max || served.request_us.p50 >= served.wakeup_us.p50
        );
        assert!((served.requests_per_second * served.seconds - 300.0).abs() < 1e-6);
    }

    #[test]
    fn it_ends_at_its_limit() {
        let endless = Wakeups { requests: 1 << 40, limit: Duration::from_millis(20), ..small() };
        let served = run(&endless).unwrap();
        assert!(!served.complete);
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let mut times: Vec<u32> = (1..=1000).rev().map(|us| us * 1000).collect();
        let found = percentiles(&mut times);
        assert_eq!(found, Percentiles { p50: 500.0, p90: 900.0, p99: 990.0, p99_9: 999.0, max: 1000.0 });
        assert_eq!(percentiles(&mut [2000]).p50, 2.0);
        assert_eq!(percentiles(&mut []).max, 0.0);
    }
}
