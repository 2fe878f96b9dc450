//! One quantity over the time of a run, in a limited number of samples: when the room is full, every second
//! sample is dropped and the time between two doubles. So a run of any length has between half the room and
//! all of it in samples.

/// The largest number of stored samples.
pub const ROOM: usize = 256;

/// The time between the first samples, ns.
const PERIOD_NS: i64 = 10_000_000;

/// The shortest wait before a sample, in multiples of the cost of the one before: sampling takes at most the
/// inverse share of one CPU.
const SHARE: i64 = 200;

/// The smallest number of samples for which there is a mean.
pub const FEWEST: u64 = 4;

/// Samples over time. Times are ns since the run began.
pub struct Course {
    kept: [(i64, u64); ROOM],
    length: usize,
    period_ns: i64,
    due_ns: i64,
    /// The area below all samples, including those that were dropped.
    area: f64,
    taken: u64,
    last: Option<(i64, u64)>,
    largest: u64,
    /// The CPU time that taking the samples took, ns.
    pub spent_ns: i64,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            kept: [(0, 0); ROOM],
            length: 0,
            period_ns: PERIOD_NS,
            due_ns: PERIOD_NS,
            area: 0.0,
            taken: 0,
            last: None,
            largest: 0,
            spent_ns: 0,
        }
    }
}

impl Course {
    /// Return when the next sample is due.
    pub fn due_ns(&self) -> i64 {
        self.due_ns
    }

    /// Add a sample, which took `cost_ns` of CPU time; None: there was nothing to read.
    pub fn take(&mut self, at_ns: i64, value: Option<u64>, cost_ns: i64) {
        self.spent_ns += cost_ns;
        if let Some(value) = value {
            self.keep(at_ns, value);
        }
        self.due_ns = (self.due_ns + self.period_ns).max(at_ns + cost_ns * SHARE);
    }

    fn keep(&mut self, at_ns: i64, value: u64) {
        if self.length == ROOM {
            for place in 0..ROOM / 2 {
                self.kept[place] = self.kept[2 * place];
            }
            self.length = ROOM / 2;
            self.period_ns *= 2;
        }
        self.kept[self.length] = (at_ns, value);
        self.length += 1;
        if let Some((then, before)) = self.last {
            self.area += 0.5 * (before as f64 + value as f64) * (at_ns - then) as f64;
        }
        self.last = Some((at_ns, value));
        self.largest = self.largest.max(value);
        self.taken += 1;
    }

    /// Return the stored samples.
    pub fn samples(&self) -> &[(i64, u64)] {
        &self.kept[..self.length]
    }

    /// Return the number of values taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Return the largest value; 0 without any.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Return the mean over time of all samples; None if there are too few.
    pub fn average(&self) -> Option<f64> {
        let (first, last) = (self.kept[..self.length].first()?.0, self.last?.0);
        (self.taken >= FEWEST && last > first).then(|| self.area / (last - first) as f64)
    }

    /// Return the mean of the last quarter of a run over that of its second quarter: above 1 if a quantity
    /// grows. The first quarter is left out, since programs set up in it. None if one of the two has fewer
    /// than two samples.
    pub fn growth(&self, wall_ns: i64) -> Option<f64> {
        let mean = |from: i64, to: i64| {
            let inside = |sample: &&(i64, u64)| sample.0 * 4 >= from && sample.0 * 4 < to;
            let count = self.samples().iter().filter(inside).count();
            let sum: f64 = self.samples().iter().filter(inside).map(|(_, value)| *value as f64).sum();
            (count >= 2).then(|| sum / count as f64)
        };
        Some(mean(3 * wall_ns, i64::MAX)? / mean(wall_ns, 2 * wall_ns)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    /// Return a course of a value over time, sampled when due until a time.
    fn course(until_ns: i64, cost_ns: i64, value: impl Fn(i64) -> u64) -> Course {
        let mut course = Course::default();
        while course.due_ns() < until_ns {
            let at = course.due_ns();
            course.take(at, Some(value(at)), cost_ns);
        }
        course
    }

    #[test]
    fn a_short_run_has_a_sample_each_ten_milliseconds() {
        let flat = course(100 * MS, 0, |_| 7);
        assert_eq!((flat.samples().len(), flat.average()), (9, Some(7.0)));
        assert_eq!((flat.growth(100 * MS), flat.largest()), (Some(1.0), 7));
    }

    #[test]
    fn growth_excludes_the_memory_of_setup() {
        let ramp = course(1000 * MS, 0, |at| at as u64);
        let growth = ramp.growth(1000 * MS).unwrap();
        // 0.875 over 0.375 of the run.
        assert!((growth - 7.0 / 3.0).abs() < 0.05, "{growth}");
        let steps = course(1000 * MS, 0, |at| if at < 200 * MS { 1 } else { 50 });
        assert_eq!(steps.growth(1000 * MS), Some(1.0));
    }

    #[test]
    fn too_few_samples_say_nothing() {
        let none = course(30 * MS, 0, |_| 7);
        assert_eq!((none.taken(), none.average(), none.growth(30 * MS)), (2, None, None));
        assert_eq!(course(60 * MS, 0, |_| 7).growth(60 * MS), None);
        let mut gone = Course::default();
        gone.take(10 * MS, None, 5);
        assert_eq!((gone.samples().len(), gone.largest(), gone.spent_ns), (0, 0, 5));
    }

    #[test]
    fn dropped_samples_still_count_in_the_mean_and_the_largest() {
        // A peak of one sample in an hour is dropped, but still counts as the largest.
        let peak = course(3_600_000 * MS, 0, |at| if at == 30 * MS { 900 } else { 100 });
        assert_eq!(peak.largest(), 900);
        assert!(peak.samples().iter().all(|(_, value)| *value == 100));
        assert!(peak.average().unwrap() > 100.0);
    }

    proptest! {
        #[test]
        fn there_are_never_more_than_fit_and_never_less_than_half(seconds in 3_i64..20_000) {
            let found = course(seconds * 1000 * MS, 0, |at| at as u64 / 1000);
            let count = found.samples().len();
            prop_assert!((ROOM / 2..=ROOM).contains(&count));
            let gaps: Vec<i64> = found.samples().windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            prop_assert!(gaps.iter().max() <= gaps.iter().min().map(|gap| 2 * gap).as_ref(), "even in time");
            let mean = found.average().unwrap();
            prop_assert!((mean / (seconds as f64 * 500_000.0) - 1.0).abs() < 0.02, "{mean}");
        }

        #[test]
        fn dear_samples_are_rare(cost_us in 1_i64..50_000) {
            let found = course(20_000 * MS, cost_us * 1000, |_| 1);
            prop_assert!(found.spent_ns <= 20_000 * MS / SHARE + cost_us * 1000);
        }
    }
}
