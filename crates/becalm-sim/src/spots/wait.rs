//! How long to wait for a sweet spot once a move is wanted: d_max, d_min, and a hard limit.
//!
//! d_max = n(d)·(1 − p)·t_s: what moving at once would have cost by what was counted until now, since every line that is
//! used again is lost with probability 1 − p. Waiting that has lasted longer costs more than it can save. Waiting begins
//! only where the count expected in a short time k says so: d_min = n(k)·(1 − p)·t_s > k.

use serde::{Deserialize, Serialize};

use super::judge::Spot;
use super::record::Task;
use super::window::{Counts, Window};

/// When it is moved at the latest, whatever is counted.
pub const HARD_LIMIT_NS: u64 = 100_000_000;

/// What is counted since a move was wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// References less misses (published).
    #[default]
    Hits,
    /// Within one last-level cache the private caches are lost: references of it, a hit of it each.
    References,
    /// To another last-level cache: misses, an access to memory each.
    Misses,
}

/// The parameters of waiting. Times in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Waiting {
    /// p: how likely a line is used again.
    pub reuse: f64,
    /// t_s: what a miss costs.
    pub miss_ns: f64,
    pub counted: Counted,
    /// k: over which time the count is expected.
    pub short_ns: u64,
    pub hard_limit_ns: u64,
}

impl Default for Waiting {
    /// Published p and t_s: 0.8, 200 cycles at 3.1 GHz.
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

/// A move that somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub task: Task,
    pub at_ns: u64,
}

/// Why a program is moved when it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Spot,
    /// Waiting would have cost more than it could save.
    NotWorthWaiting,
    /// It has cost as much as it could save.
    WaitedEnough,
    HardLimit,
    /// Its counts are not known, so nothing says that waiting pays.
    Unknown,
    /// It ended, or the stream did.
    Ended,
}

/// When a wanted move is made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decision {
    pub task: Task,
    pub wanted_ns: u64,
    pub moved_ns: u64,
    pub why: Why,
    /// d_max at that moment, and d_min at the beginning where it was computed.
    pub longest_ns: f64,
    pub least_ns: f64,
}

impl Waiting {
    /// Errors: a sentence.
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

    /// d_max after counting so much, ns.
    pub fn longest_ns(&self, counts: Counts) -> f64 {
        let counted = match self.counted {
            Counted::Hits => counts.references.saturating_sub(counts.misses),
            Counted::References => counts.references,
            Counted::Misses => counts.misses,
        };
        counted as f64 * (1.0 - self.reuse) * self.miss_ns
    }

    /// Whether waiting for so long, ns, has cost as much as it could save. It begins where a short time pays, and lasts that
    /// long at least: the few counts of less are chance.
    pub(super) fn enough(&self, waited_ns: f64, longest_ns: f64) -> bool {
        waited_ns >= longest_ns.max(self.short_ns as f64)
    }

    /// When a move wanted at a moment is made, by the windows and spots of its program in order.
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
            // Of types 1 and 2 it is the end of a window, of type 0 any moment.
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

/// The own counts of a window from a moment on, as if they were evenly spread over it.
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
    fn it_waits_for_the_spot_while_that_pays() {
        // 5 ms of 1,000,000 hits are worth 200,000 misses avoided: 12.9 ms a window.
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
    fn a_limit_above_a_tenth_of_a_second_is_refused() {
        let long = Waiting { hard_limit_ns: HARD_LIMIT_NS + 1, ..Waiting::default() };
        assert!(long.check().expect_err("too long").contains("100 ms"));
        let odd = Waiting { reuse: 1.5, ..Waiting::default() };
        assert!(odd.check().expect_err("no probability").contains("not 1.5"));
    }
}
