//! The times of samples: as often as requested, within a share of one CPU.

/// The largest share of one CPU that sampling may take: a thousandth.
pub const LARGEST_SHARE: f64 = 0.001;

/// The part of a share that is planned for: the rest pays for a sample that costs more than expected.
const PLANNED: f64 = 0.97;

/// The time table of a sampler. Times are ns of one monotonic clock.
#[derive(Debug, Clone)]
pub struct Pace {
    start_ns: i64,
    period_ns: i64,
    share: f64,
    due_ns: i64,
    /// The number of periods of the time table that passed without a sample.
    pub skipped: u64,
    random: u64,
}

impl Pace {
    /// Sample every `period_ns`, at most `share` of one CPU, from `start_ns` on.
    pub fn new(start_ns: i64, period_ns: i64, share: f64) -> Self {
        let period_ns = period_ns.max(1);
        // Any odd number will do: the start makes it differ between two samplers.
        let random = (start_ns as u64) | 1;
        Self { start_ns, period_ns, share: share * PLANNED, due_ns: start_ns, skipped: 0, random }
    }

    /// Return the time of the next sample. It is `now_ns`, all samples so far took `spent_ns` of CPU time,
    /// and the next is expected to take `cost_ns`.
    ///
    /// The planned part of the share holds over the whole time, the next sample included: (spent + cost) /
    /// (due - start). Each sample comes up to a tenth of a period early or late, so that no sampler runs in
    /// step with the kernel's tick (aliasing).
    pub fn next(&mut self, now_ns: i64, spent_ns: i64, cost_ns: i64) -> i64 {
        let wanted = self.due_ns + self.period_ns;
        let affordable = self.start_ns + ((spent_ns + cost_ns) as f64 / self.share) as i64;
        let earliest = now_ns.max(affordable);
        let behind = (earliest - wanted).max(0);
        let periods = (behind + self.period_ns - 1) / self.period_ns;
        self.skipped += periods as u64;
        self.due_ns = wanted + periods * self.period_ns;
        (self.due_ns + self.jitter()).max(earliest)
    }

    /// Begin again after a pause: periods during the pause do not count as skipped.
    pub fn resume(&mut self, now_ns: i64) {
        self.due_ns = self.due_ns.max(now_ns);
    }

    /// Return a random offset within a tenth of a period: xorshift64 (Marsaglia 2003).
    fn jitter(&mut self) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let width = self.period_ns / 5 + 1;
        (self.random % width as u64) as i64 - width / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_cheap_sampler_keeps_its_period() {
        let mut pace = Pace::new(0, SECOND, LARGEST_SHARE);
        let mut now = 0;
        for sample in 1..=100 {
            now = pace.next(now, (sample - 1) * 50_000, 50_000);
            assert!((now - sample * SECOND).abs() <= SECOND / 10, "{now}");
        }
        assert_eq!(pace.skipped, 0);
    }

    #[test]
    fn late_wake_ups_are_counted_and_not_made_up_for() {
        let mut pace = Pace::new(0, SECOND, LARGEST_SHARE);
        let next = pace.next(5 * SECOND + SECOND / 2, 0, 0);
        assert_eq!(pace.skipped, 5);
        assert!(next >= 5 * SECOND + SECOND / 2);
    }

    #[test]
    fn a_pause_is_no_delay() {
        let mut pace = Pace::new(0, SECOND, LARGEST_SHARE);
        pace.next(0, 0, 0);
        pace.resume(100 * SECOND);
        let next = pace.next(100 * SECOND, 0, 0);
        assert!((next - 101 * SECOND).abs() <= SECOND / 10, "{next}");
        assert_eq!(pace.skipped, 0);
    }

    proptest! {
        #[test]
        fn the_share_is_never_exceeded(costs in proptest::collection::vec(1_000_i64..20_000_000, 1..60), period in 1_000_000_i64..SECOND) {
            let mut pace = Pace::new(0, period, LARGEST_SHARE);
            let (mut now, mut spent) = (0, 0);
            for cost in costs {
                let next = pace.next(now, spent, cost);
                prop_assert!(next >= now);
                spent += cost;
                prop_assert!(spent as f64 <= next as f64 * LARGEST_SHARE + 1.0, "right after the sample");
                now = next + cost;
            }
        }

        #[test]
        fn a_sample_that_costs_a_little_more_than_expected_stays_within_it(period in 1_000_000_i64..SECOND, expected in 100_000_i64..1_000_000) {
            let mut pace = Pace::new(0, period, LARGEST_SHARE);
            let (mut now, mut spent) = (0, 0);
            for _ in 0..40 {
                now = pace.next(now, spent, expected);
                spent += expected + expected / 40;
                prop_assert!(spent as f64 <= now as f64 * LARGEST_SHARE + 1.0);
            }
        }
    }
}
