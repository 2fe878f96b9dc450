//! The search for t_diff: the smallest difference between two lengths that can be seen.

use super::grid::{self, Ask, Range};
use super::{published, Answer, Criteria, Found, Trial, Unmeasurable};
use crate::clock::meter::Meter;
use crate::clock::statistics::{overlap, quantile, separation, sorted, Separation};

/// The steps of the published scan, in additions.
pub const STEPS: [u64; 3] = [100, 10, 1];
/// The pairs of a first look, of those that must all pass.
const FIRST_LOOK: usize = 2;

/// A difference that was found, and the measures of two sets with that difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Its length.
    pub found: Found,
    /// The measures of how well sets that differ by it can be distinguished.
    pub separation: Option<Separation>,
}

/// Search by the published scan, from a shortest length on.
pub fn published(
    meter: &mut dyn Meter,
    criteria: &Criteria,
    shortest: u64,
) -> Result<Difference, Unmeasurable> {
    let mut trial = Trial::new(meter, criteria);
    let largest = shortest.max(STEPS[0]);
    let found = published::scan(&STEPS, largest, |difference| {
        Ok(trial.apart(shortest, difference, criteria.pairs)? == Answer::Passed)
    })?;
    let found =
        found.and_then(|length| Found::of(vec![length], trial.again)).ok_or_else(|| trial.unseen())?;
    trial.described(shortest, found)
}

/// Search by the grid: return the median and the range of several searches, as many as time allows.
pub fn grid(meter: &mut dyn Meter, criteria: &Criteria, shortest: u64) -> Result<Difference, Unmeasurable> {
    let mut trial = Trial::new(meter, criteria);
    let mut found = Vec::new();
    let mut start = trial.width(shortest)?;
    for _ in 0..criteria.repetitions.max(1) {
        // A difference above all of t_min is no longer small.
        let range = Range { first: 1, longest: shortest.max(STEPS[0]), start, refine: criteria.refine };
        let bracket = grid::search(range, |difference, ask| {
            let pairs = if matches!(ask, Ask::Confirm) { criteria.pairs } else { FIRST_LOOK };
            trial.apart(shortest, difference, pairs.min(criteria.pairs))
        });
        match bracket {
            Err(Unmeasurable::OutOfTime { .. }) if !found.is_empty() => break,
            other => found.push(other?.ok_or_else(|| trial.unseen())?),
        }
        start = found[0].length;
    }
    let found = Found::of_brackets(&found, trial.again).ok_or_else(|| trial.unseen())?;
    trial.described(shortest, found)
}

impl Trial<'_> {
    /// Return whether all of `pairs` neighbouring lengths, A = shortest + (i − 1)Δ and B = shortest + iΔ, can
    /// be distinguished.
    fn apart(&mut self, shortest: u64, difference: u64, pairs: usize) -> Result<Answer, Unmeasurable> {
        for pair in 0..pairs as u64 {
            let shorter = shortest + pair * difference;
            let answer = self.passes(&[shorter, shorter + difference], |trial, sets| {
                trial.steadiest = 0.0;
                overlap(&sets[0].values, &sets[1].values) <= trial.criteria.overlap
            })?;
            if answer != Answer::Passed {
                return Ok(answer);
            }
        }
        Ok(Answer::Passed)
    }

    /// Return where the search begins: the distance between the lowest twentieth of a set and its largest
    /// value.
    fn width(&mut self, shortest: u64) -> Result<u64, Unmeasurable> {
        let Some(sets) = self.sets(&[shortest])? else { return Ok(1) };
        let values = sorted(&sets[0].values);
        let width =
            (quantile(&values, 1.0) - quantile(&values, self.criteria.overlap)) / self.meter.per_length();
        Ok(if width.is_finite() { width as u64 } else { 1 })
    }

    fn unseen(&self) -> Unmeasurable {
        if self.steadiest.is_finite() {
            Unmeasurable::Overlap
        } else {
            Unmeasurable::TooMuchRemoved { removed: self.removed }
        }
    }

    /// Add the measures; without time for that, or under bursts of other load, return only the length.
    fn described(&mut self, shortest: u64, found: Found) -> Result<Difference, Unmeasurable> {
        let sets = match self.sets(&[shortest, shortest + found.length]) {
            Err(Unmeasurable::OutOfTime { .. }) => None,
            other => other?,
        };
        let separation = sets.map(|sets| separation(&sets[0].values, &sets[1].values));
        Ok(Difference { found, separation })
    }
}

#[cfg(test)]
mod tests {
    use super::super::confirm;
    use super::*;
    use crate::clock::filter::Filter;
    use crate::clock::meter::{Quantum, Set};
    use crate::clock::synthetic::Synthetic;
    use crate::samples::samples;

    fn quick() -> Criteria {
        Criteria { many: 1_000, pairs: 4, repetitions: 1, filter: Filter::None, ..Criteria::default() }
    }

    fn noisy(seed: u64) -> Synthetic {
        Synthetic { noise: 400.0, ..Synthetic::new(seed) }
    }

    #[test]
    fn uniform_noise_over_many_seeds() {
        // The answer is 0.95 w; with 1,000 measurements the share is off by 0.7 % of w (one standard error),
        // and pairs must all pass.
        for seed in 0..samples(8, 100) {
            let found = grid(&mut noisy(seed), &quick(), 11_000).unwrap();
            assert!((0.92..1.0).contains(&(found.found.length as f64 / 400.0)), "seed {seed}: {found:?}");
            let separation = found.separation.unwrap();
            assert!(separation.area > 0.99 && separation.error < 0.06, "{found:?}");
        }
    }

    #[test]
    fn bursts_of_other_load_in_half_of_the_sets_do_not_hide_a_difference() {
        let tried = Criteria { many: 200, pairs: 2, tries: 24, enough: 2, ..quick() };
        for seed in 0..samples(8, 100) {
            let mut meter = Synthetic { noise: 40.0, bursts: (0.5, 8.0), ..Synthetic::new(seed) };
            let found = grid(&mut meter, &tried, 1_100).unwrap();
            assert!((0.85..1.05).contains(&(found.found.length as f64 / 40.0)), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn the_published_scan_finds_it_over_many_pairs() {
        let criteria = Criteria { many: 10_000, pairs: samples(12, 30), ..quick() };
        let found = published(&mut noisy(1), &criteria, 11_000).unwrap();
        // The worst of the pairs counts: three standard errors of a share of 5 % of 10,000, which is 0.7 % of
        // w.
        assert!((0.945..0.975).contains(&(found.found.length as f64 / 400.0)), "{found:?}");
    }

    /// A timer that distinguishes two equal lengths.
    struct Liar(bool);

    impl Meter for Liar {
        fn sets(&mut self, lengths: &[u64], many: usize) -> Vec<Set> {
            let set = |index: usize| Set { values: vec![100.0 + index as f64; many], ..Set::default() };
            (0..lengths.len()).map(set).collect()
        }

        fn cost(&self) -> f64 {
            0.0
        }

        fn quantum(&self) -> Option<Quantum> {
            self.0.then_some(Quantum { value: 1.0, length: 1.0 })
        }
    }

    #[test]
    fn a_null_that_passes_voids_the_result() {
        for step in [false, true] {
            let found = grid(&mut Liar(step), &quick(), 500).unwrap().found;
            let refused = confirm::difference(&mut Liar(step), &quick(), 500, found);
            assert_eq!(refused.unwrap_err(), Unmeasurable::NullPassed);
        }
    }

    #[test]
    fn constant_sets_on_a_coarse_counter_are_no_difference() {
        // Lengths of 1,000 and 1,001 read alike on a counter that steps by 100: a tie is an overlap.
        let mut meter = Synthetic { step: 100.0, ..Synthetic::new(1) };
        let found = grid(&mut meter, &quick(), 10_000).unwrap();
        assert!((95..=210).contains(&found.found.length), "{found:?}");
    }

    #[test]
    fn noise_that_hides_every_difference_has_a_reason() {
        let mut meter = Synthetic { noise: 4_000.0, ..Synthetic::new(1) };
        assert_eq!(grid(&mut meter, &quick(), 500), Err(Unmeasurable::Overlap));
    }
}
