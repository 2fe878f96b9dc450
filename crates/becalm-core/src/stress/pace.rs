//! A rate of work: sleep until the next piece is due.

use crate::exec::clock_ns;

/// The longest wait, so that a slow rate is still smooth, ns.
const PERIOD_NS: i64 = 20_000_000;

/// Pieces of work of one size at a rate; without a rate they are due at once.
pub struct Pace {
    each_ns: f64,
    next_ns: f64,
}

impl Pace {
    /// Plan pieces of `size` at `rate` per second. None: without a pause.
    pub fn new(size: f64, rate: Option<f64>) -> Self {
        Self { each_ns: rate.map_or(0.0, |rate| size / rate * 1e9), next_ns: now() as f64 }
    }

    /// Sleep until the next piece is due. Work that could not be done in time is not made up for: a load that
    /// was held up must not become a heavier one later.
    pub fn wait(&mut self) {
        let now_ns = now() as f64;
        if self.next_ns > now_ns {
            until(self.next_ns as i64);
        } else if now_ns - self.next_ns > PERIOD_NS as f64 {
            self.next_ns = now_ns;
        }
        self.next_ns += self.each_ns;
    }
}

/// Return a piece's size in bytes for a rate: at most `most`, a multiple of `unit`, and done at least each
/// period.
pub fn piece(rate: Option<f64>, most: usize, unit: usize) -> usize {
    let wanted = rate.map_or(most as f64, |rate| rate * PERIOD_NS as f64 / 1e9);
    (wanted as usize / unit * unit).clamp(unit, most)
}

/// Return CLOCK_MONOTONIC in ns: the clock to sleep by.
pub fn now() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Sleep until CLOCK_MONOTONIC shows `at_ns`.
pub fn until(at_ns: i64) {
    let at = libc::timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
    // SAFETY: a live timespec; a signal that ends the sleep ends the process or is ignored.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &at, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_due_fifty_times_a_second() {
        assert_eq!(piece(Some(50e6), 1 << 20, 4096), 999_424);
        assert_eq!(piece(Some(1e12), 1 << 20, 4096), 1 << 20);
        assert_eq!(piece(Some(1.0), 1 << 20, 4096), 4096);
        assert_eq!(piece(None, 1 << 20, 4096), 1 << 20);
    }

    #[test]
    fn no_work_is_made_up_for() {
        let mut pace = Pace::new(1.0, Some(1e3));
        let begun_ns = now() as f64;
        pace.next_ns = begun_ns - 5e9;
        pace.wait();
        assert!(pace.next_ns >= begun_ns, "the next piece is due after the wait");
    }
}
