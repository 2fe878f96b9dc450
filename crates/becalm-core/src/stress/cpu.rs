//! Load on processors: spinners that run all the time, and one that runs for a part of each period.

use super::board::Slot;
use super::demand::Demand;
use super::job::{Job, LoadError};
use super::pace::{now, until};
use crate::exec::clock_ns;

/// The length of a duty cycle, ns: several of a kernel's time slices, well below any usual sampling period.
const PERIOD_NS: i64 = 20_000_000;

pub fn jobs(demand: &Demand) -> Result<Vec<Job>, LoadError> {
    let whole = demand.cpu.floor();
    let part = demand.cpu - whole;
    let mut shares = vec![1.0; whole as usize];
    // Below a hundredth of a period a spinner would do nothing but wake up.
    if part >= 0.01 {
        shares.push(part);
    }
    let job = |share: f64| Job {
        kind: "cpu",
        asked: Some(share),
        limit_bytes: None,
        work: Box::new(move |slot| spin(share, slot)),
    };
    Ok(shares.into_iter().map(job).collect())
}

/// Run for `share` of each period, by the thread's own CPU clock: time in which it waited for a processor is
/// not work. A period that took longer because of others is not made up for.
fn spin(share: f64, slot: &Slot) -> LoadError {
    slot.ready();
    if share >= 1.0 {
        loop {
            busy(PERIOD_NS);
        }
    }
    let wanted = (share * PERIOD_NS as f64) as i64;
    let mut next = now();
    loop {
        busy(wanted);
        next = (next + PERIOD_NS).max(now());
        until(next);
    }
}

/// Use an amount of CPU time.
fn busy(wanted_ns: i64) {
    let end = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) + wanted_ns;
    while clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) < end {
        // This takes some microseconds between two readings of the clock: a spinner should compute, not call
        // the kernel.
        let mut value = 0_u64;
        for index in 0..5_000_u64 {
            value = std::hint::black_box(value.wrapping_add(index));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_a_half_are_two_and_one_half() {
        let shares = |cpu| {
            let jobs = jobs(&Demand { cpu, ..Demand::default() }).unwrap();
            jobs.iter().map(|job| job.asked.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(shares(2.5), [1.0, 1.0, 0.5]);
        assert_eq!(shares(3.0), [1.0; 3]);
        assert_eq!(shares(0.25), [0.25]);
        assert!(shares(0.0).is_empty());
    }
}
