//! The frequency of a counter, measured against the operating system's clock, with a bound on its error.

use crate::portable;
use crate::Unusable;

/// One read of the operating system's clock between two reads of the counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// The counter before and after the read of the clock.
    pub ticks: (u64, u64),
    /// The operating system's clock, ns.
    pub ns: u64,
}

impl Bracket {
    /// Return the distance of the two reads of the counter, between which the clock was read, in ticks.
    fn width(&self) -> u64 {
        self.ticks.1.wrapping_sub(self.ticks.0)
    }
}

/// The frequency of a counter and a bound on its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// The frequency, in ticks per second.
    pub hz: f64,
    /// The largest relative error of the frequency, in parts per million.
    pub ppm: f64,
}

/// Reads at each end, of which the tightest is used: an interrupted read is wide.
const READS: u32 = 100;
/// The resolution of the operating system's clock, ns, to which each of the two reads is rounded.
const ROUNDING_NS: f64 = 1.0;
/// The default duration of a calibration, ns.
pub const USUAL_NS: u64 = 100_000_000;

/// Calibrate a counter against CLOCK_MONOTONIC_RAW for at least `for_ns` nanoseconds.
///
/// # Errors
/// Returns `NotRunning` if the counter did not advance.
pub fn calibrate(counter: impl Fn() -> u64, for_ns: u64) -> Result<Calibration, Unusable> {
    let first = tightest(&counter, portable::now_ns);
    // A busy loop: a sleeping core may stop a counter that is not invariant, which would distort the
    // frequency.
    while portable::now_ns().saturating_sub(first.ns) < for_ns {
        core::hint::spin_loop();
    }
    between(first, tightest(&counter, portable::now_ns)).ok_or(Unusable::NotRunning)
}

/// Return the tightest of 100 brackets.
pub fn tightest(counter: impl Fn() -> u64, clock: impl Fn() -> u64) -> Bracket {
    let read = || {
        let before = counter();
        let ns = clock();
        Bracket { ticks: (before, counter()), ns }
    };
    (1..READS).fold(read(), |best, _| {
        let next = read();
        if next.width() < best.width() {
            next
        } else {
            best
        }
    })
}

/// Return the frequency between two brackets, or None if time or the counter did not advance.
///
/// The clock was read somewhere within each bracket, so the middle of a bracket is off by at most half its
/// width, and the sum of both halves bounds the error.
pub fn between(first: Bracket, last: Bracket) -> Option<Calibration> {
    let middle = |bracket: &Bracket| bracket.ticks.0.wrapping_add(bracket.width() / 2);
    let ticks = middle(&last).wrapping_sub(middle(&first)) as i64;
    let ns = last.ns.checked_sub(first.ns).filter(|ns| *ns > 0)?;
    if ticks <= 0 {
        return None;
    }
    let (ticks, ns) = (ticks as f64, ns as f64);
    let halves = (first.width() + last.width()) as f64 / 2.0 + 1.0;
    Some(Calibration { hz: ticks * 1e9 / ns, ppm: (halves / ticks + ROUNDING_NS / ns) * 1e6 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_true_frequency_lies_within_the_bound() {
        // A machine on which a read of either clock takes 20 to 40 ns, and every seventh 50 µs more.
        for hz in [24e6, 1e9, 2.6e9] {
            let (time, turn) = (Cell::new(5e9), Cell::new(0_u32));
            let pass = || {
                turn.set(turn.get() + 1);
                let long = if turn.get() % 7 == 0 { 50_000.0 } else { 0.0 };
                time.set(time.get() + 20.0 + f64::from(turn.get() % 20) + long);
                time.get()
            };
            let counter = || (pass() * hz / 1e9) as u64;
            let clock = || pass() as u64;
            let first = tightest(counter, clock);
            time.set(time.get() + 1e8);
            let found = between(first, tightest(counter, clock)).unwrap();
            let off = (found.hz / hz - 1.0).abs() * 1e6;
            assert!(off <= found.ppm, "{hz}: off by {off} ppm, bound {}", found.ppm);
            assert!(found.ppm < 3.0, "{hz}: {}", found.ppm);
        }
    }

    #[test]
    fn a_counter_that_stops_or_goes_backwards_has_no_frequency() {
        let at = |ticks, ns| Bracket { ticks: (ticks, ticks + 10), ns };
        assert_eq!(between(at(100, 0), at(100, 1_000)), None);
        assert_eq!(between(at(100, 0), at(50, 1_000)), None);
        assert_eq!(between(at(100, 5), at(200, 5)), None);
        assert_eq!(calibrate(|| 7, 1_000), Err(Unusable::NotRunning));
    }
}
