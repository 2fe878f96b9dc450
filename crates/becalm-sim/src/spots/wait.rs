//! The decision how long to wait for a sweet spot once a move is wanted: d_max, d_min, and a hard limit.
//!
//! d_max = n(d)·(1 − p)·t_s is the cost that moving at once would have had by the counts so far, since every
//! line that is used again is lost with probability 1 − p. A wait longer than that costs more than it can
//! save. Waiting begins only if the count expected in a short time k justifies it: d_min = n(k)·(1 − p)·t_s >
//! k.

use serde::{Deserialize, Serialize};

use super::judge::Spot;
use super::record::Task;
use super::window::{Counts, Window};

/// The longest hard limit of a wait, whatever is counted, ns.
pub const HARD_LIMIT_NS: u64 = 100_000_000;

/// The events counted since a move was wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// References minus misses (published).
    #[default]
    Hits,
    /// References, for moves within one last-level cache: private caches are lost, and each reference is a
    /// hit of the last-level one.
    References,
    /// Misses, for moves to another last-level cache: each is an access to memory.
    Misses,
}

/// The parameters of waiting. Times are in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Waiting {
    /// The probability p that a line is used again.
    pub reuse: f64,
    /// The cost t_s of a miss.
    pub miss_ns: f64,
    pub counted: Counted,
    /// The time k over which the count is expected.
    pub short_ns: u64,
    pub hard_limit_ns: u64,
}

impl Default for Waiting {
    /// Return the published p and t_s: 0.8, and 200 cycles at 3.1 GHz.
    fn default() -> Self {
        let short_ns = 1_000_000;
        Self {
            reuse: 0.8,
            miss_ns: 200.0 / 3.1,
            counted: Counted::Hits,
            short_ns,
            hard_limit_ns: HARD_LIMIT_NS,
        }
    }
}

/// A wanted move of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub task: Task,
    pub at_ns: u64,
}

/// The reason for the moment at which a program is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Spot,
    /// Waiting would have cost more than it could save.
    NotWorthWaiting,
    /// Waiting has cost as much as it could save.
    WaitedEnough,
    HardLimit,
    /// The counts are unknown, so nothing shows that waiting pays.
    Unknown,
    /// The program or the stream ended.
    Ended,
}

/// The moment at which a wanted move is made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decision {
    pub task: Task,
    pub wanted_ns: u64,
    pub moved_ns: u64,
    pub why: Why,
    /// The longest worthwhile wait d_max at that moment.
    pub longest_ns: f64,
    /// The minimum d_min at the beginning, if it was computed; otherwise 0.
    pub least_ns: f64,
}

impl Waiting {
    /// Check the parameters.
    ///
    /// # Errors
    /// Returns a sentence about the first invalid one.
    pub fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.reuse) {
            return Err(format!("How likely a line is used again is from 0 to 1, not {}.", self.reuse));
        }
        if !(self.miss_ns.is_finite() && self.miss_ns >= 0.0) {
            return Err(format!("What a miss costs is a time, not {} ns.", self.miss_ns));
        }
        if self.short_ns == 0 || self.hard_limit_ns > HARD_LIMIT_NS {
            return Err("The short time is above 0, and the hard limit at most 100 ms.".to_owned());
        }
        Ok(())
    }

    /// Return d_max after these counts, ns.
    pub fn longest_ns(&self, counts: Counts) -> f64 {
        let counted = match self.counted {
            Counted::Hits => counts.references.saturating_sub(counts.misses),
            Counted::References => counts.references,
            Counted::Misses => counts.misses,
        };
        counted as f64 * (1.0 - self.reuse) * self.miss_ns
    }

    /// Return whether a wait of this length, ns, has cost as much as it could save. A wait lasts at least the
    /// short time, since the few counts of a shorter one are chance.
    pub(super) fn enough(&self, waited_ns: f64, longest_ns: f64) -> bool {
        waited_ns >= longest_ns.max(self.short_ns as f64)
    }

    /// Decide when a move wanted at a moment is made, from the windows and sweet spots of its program in
    /// order.
    pub fn decide(&self, wanted: Wanted, windows: &[Window], spots: &[Spot]) -> Decision {
        let Wanted { task, at_ns } = wanted;
        let mut decision = Decision {
            task,
            wanted_ns: at_ns,
            moved_ns: at_ns,
            why: Why::Unknown,
            longest_ns: 0.0,
            least_ns: 0.0,
        };
        let first = windows.partition_point(|each| each.end_ns <= at_ns);
        let Some(before) = first.checked_sub(1).map(|at| windows[at]).filter(|each| each.known) else {
            return decision;
        };
        let length = before.end_ns.saturating_sub(before.start_ns).max(1);
        decision.least_ns = self.longest_ns(before.own) * self.short_ns as f64 / length as f64;
        if decision.least_ns <= self.short_ns as f64 {
            decision.why = Why::NotWorthWaiting;
            return decision;
        }
        let limit_ns = at_ns.saturating_add(self.hard_limit_ns);
        let next = spots.iter().find(|each| each.time_ns >= at_ns).map(|each| each.time_ns);
        let mut counts = Counts::default();
        for window in &windows[first..] {
            if !window.known {
                return Decision { moved_ns: window.start_ns.max(at_ns), why: Why::Unknown, ..decision };
            }
            let known_ns = window.end_ns;
            counts += share(window, at_ns);
            decision.longest_ns = self.longest_ns(counts);
            if known_ns >= limit_ns && next.is_none_or(|spot| spot > limit_ns) {
                return Decision { moved_ns: limit_ns, why: Why::HardLimit, ..decision };
            }
            // Sweet spots of types 1 and 2 are at the end of a window, those of type 0 at any moment.
            if let Some(spot) = next.filter(|&spot| spot <= known_ns) {
                return Decision { moved_ns: spot, why: Why::Spot, ..decision };
            }
            if window.last {
                return Decision { moved_ns: known_ns, why: Why::Ended, ..decision };
            }
            if self.enough((known_ns - at_ns) as f64, decision.longest_ns) {
                return Decision { moved_ns: known_ns, why: Why::WaitedEnough, ..decision };
            }
        }
        let end_ns = windows.last().map_or(at_ns, |each| each.end_ns);
        Decision { moved_ns: end_ns.max(at_ns), why: Why::Ended, ..decision }
    }
}

/// Return the own counts of a window from a moment on, as if they were evenly spread over it.
pub(super) fn share(window: &Window, from_ns: u64) -> Counts {
    let length = window.end_ns.saturating_sub(window.start_ns);
    if from_ns <= window.start_ns || length == 0 {
        return window.own;
    }
    let part =
        |count: u64| (u128::from(count) * u128::from(window.end_ns - from_ns) / u128::from(length)) as u64;
    Counts::new(part(window.own.references), part(window.own.misses))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn windows(own: &[(u64, u64)]) -> Vec<Window> {
        let window = |(number, &own): (usize, &(u64, u64))| Window {
            program: 0,
            start_ns: number as u64 * 5 * MS,
            end_ns: (number as u64 + 1) * 5 * MS,
            own: own.into(),
            others: Counts::default(),
            known: true,
            last: false,
        };
        own.iter().enumerate().map(window).collect()
    }

    fn spot(time_ns: u64) -> Spot {
        Spot { program: 0, kind: 1, time_ns, counts: Counts::default(), threshold: 0.1 }
    }

    #[test]
    fn the_published_hundred_hits_are_worth_four_thousand_cycles() {
        let cycles = Waiting { miss_ns: 200.0, ..Waiting::default() };
        assert!((cycles.longest_ns(Counts::new(105, 5)) - 4000.0).abs() < 1e-9);
    }

    #[test]
    fn a_program_waits_for_the_spot_only_while_that_pays() {
        // In 5 ms, 1,000,000 hits are worth 200,000 avoided misses: 12.9 ms per window.
        let rich = windows(&[(1_000_000, 0); 40]);
        let waiting = Waiting::default();
        let wanted = Wanted { task: 7, at_ns: 12 * MS };
        let found = waiting.decide(wanted, &rich, &[spot(5 * MS), spot(45 * MS)]);
        assert_eq!((found.why, found.moved_ns), (Why::Spot, 45 * MS));
        let begins = Spot { kind: 0, ..spot(31 * MS + 7) };
        let found = waiting.decide(wanted, &rich, &[begins, spot(45 * MS)]);
        assert_eq!((found.why, found.moved_ns), (Why::Spot, 31 * MS + 7), "within a window");
        let found = waiting.decide(wanted, &rich, &[]);
        assert_eq!((found.why, found.moved_ns), (Why::HardLimit, 112 * MS));
        let found = waiting.decide(wanted, &windows(&[(100, 0); 40]), &[spot(45 * MS)]);
        assert_eq!((found.why, found.moved_ns), (Why::NotWorthWaiting, 12 * MS));
        let mut fading = rich.clone();
        fading[3..].iter_mut().for_each(|each| each.own = Counts::new(10, 0));
        let found = waiting.decide(wanted, &fading, &[]);
        assert_eq!((found.why, found.moved_ns), (Why::WaitedEnough, 20 * MS));
        assert!(found.longest_ns <= 8e6 && found.longest_ns > 7e6, "{}", found.longest_ns);
        let mut lost = rich;
        lost[4].known = false;
        assert_eq!(waiting.decide(wanted, &lost, &[]).why, Why::Unknown);
        assert_eq!(waiting.decide(wanted, &lost, &[]).moved_ns, 20 * MS);
    }

    #[test]
    fn a_limit_above_a_tenth_of_a_second_is_rejected() {
        let long = Waiting { hard_limit_ns: HARD_LIMIT_NS + 1, ..Waiting::default() };
        assert!(long.check().expect_err("too long").contains("100 ms"));
        let odd = Waiting { reuse: 1.5, ..Waiting::default() };
        assert!(odd.check().expect_err("no probability").contains("not 1.5"));
    }
}
