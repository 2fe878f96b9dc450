//! The last step of a search: a large fresh set at the answer, and at longer lengths until it holds.
//!
//! A search selects. Of many short sets it takes those that pass, and short sets may pass by chance: of a
//! counter with steps, where its phase stays locked to the work for a while. So the reported figure is based
//! on a set that had no part in the search, as large as the paper's, and has a margin of three standard
//! errors from its limit.

use super::{Criteria, Found, Trial, Unmeasurable};
use crate::clock::filter::Cleaned;
use crate::clock::meter::Meter;
use crate::clock::statistics::{deviation_error, overlap, variation};

/// The standard errors between a figure and its limit.
const ERRORS: f64 = 3.0;
/// The largest number of sets at a length: other programs on the machine only add scatter.
const ATTEMPTS: usize = 12;
/// The number of sets after which the scatter is the timer's own, if they agree within AGREE.
const ENOUGH: usize = 3;
const AGREE: f64 = 1.1;
/// The places within a step of the counter, and pairs of lengths, that must all hold.
const PLACES: u64 = 4;
/// The smallest and the largest stride to a longer length.
const STRIDES: (f64, f64) = (1.022, 2.0);

/// The result of the confirming sets for an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The measurements of each set.
    pub many: usize,
    /// The largest coefficient of variation (t_min), or share of overlap (t_diff), of any of the sets.
    pub value: f64,
    /// The share of overlap of two sets of one length, which must be above the limit (t_diff only).
    pub null: Option<f64>,
}

/// Raise t_min until a large fresh set varies less than the limit, by its margin, at all places within a step.
pub fn shortest(
    meter: &mut dyn Meter,
    criteria: &Criteria,
    found: Found,
) -> Result<(Found, Evidence), Unmeasurable> {
    let large = Criteria { many: criteria.large, ..*criteria };
    let mut trial = Trial::new(meter, &large);
    let mut length = found.length.max(trial.floor());
    loop {
        let lengths: Vec<u64> = trial.offsets(length, PLACES).iter().map(|offset| length + offset).collect();
        let (bound, value) = trial.least(&lengths, criteria.variation, |trial, sets| {
            let cost = trial.meter.cost();
            let both = |set: &Cleaned| {
                let variation = variation(&set.values, cost);
                (variation * (1.0 + ERRORS * deviation_error(&set.values)), variation)
            };
            sets.iter()
                .map(both)
                .fold((0.0, 0.0), |most, each| (f64::max(most.0, each.0), f64::max(most.1, each.1)))
        })?;
        trial.steadiest = trial.steadiest.min(value);
        if bound < criteria.variation {
            let evidence = Evidence { many: criteria.large, value, null: None };
            return Ok((raised(found, length, trial.floor(), trial.again), evidence));
        }
        // The deviation hardly depends on the length.
        length = longer(length, bound / criteria.variation);
        if length > criteria.longest {
            return Err(trial.reason());
        }
    }
}

/// Raise t_diff until large fresh sets of neighbouring lengths overlap less than the limit, by its margin.
pub fn difference(
    meter: &mut dyn Meter,
    criteria: &Criteria,
    shortest: u64,
    found: Found,
) -> Result<(Found, Evidence), Unmeasurable> {
    let large = Criteria { many: criteria.large, ..*criteria };
    let mut trial = Trial::new(meter, &large);
    let mut null: f64 = 1.0;
    let mut difference = found.length;
    loop {
        // The first length is measured twice: no difference must be seen between the two.
        let rising = (0..=PLACES).map(|pair| shortest + pair * difference);
        let lengths: Vec<u64> = std::iter::once(shortest).chain(rising).collect();
        let (bound, value) = trial.least(&lengths, criteria.overlap, |_, sets| {
            null = null.min(overlap(&sets[0].values, &sets[1].values));
            let shares = sets[1..].windows(2).map(|pair| overlap(&pair[0].values, &pair[1].values));
            let share = shares.fold(0.0, f64::max);
            (share + ERRORS * (share * (1.0 - share) / criteria.large as f64).sqrt(), share)
        })?;
        if null <= criteria.overlap {
            return Err(Unmeasurable::NullPassed);
        }
        if bound <= criteria.overlap {
            let evidence = Evidence { many: criteria.large, value, null: Some(null) };
            return Ok((raised(found, difference, 1, trial.again), evidence));
        }
        difference = longer(difference, STRIDES.0.powi(4));
        if difference > shortest.max(super::difference::STEPS[0]) {
            return Err(Unmeasurable::Overlap);
        }
    }
}

impl Trial<'_> {
    /// Return the least of several looks at lengths that are measured in turns: a bound and its value. Ends
    /// with the first bound below the limit, or when looks agree that there is none.
    fn least(
        &mut self,
        lengths: &[u64],
        limit: f64,
        mut judge: impl FnMut(&Self, &[Cleaned]) -> (f64, f64),
    ) -> Result<(f64, f64), Unmeasurable> {
        let mut looks: Vec<(f64, f64)> = Vec::new();
        for _ in 0..ATTEMPTS {
            let Some(sets) = self.sets(lengths)? else { break };
            let (bound, value) = judge(self, &sets);
            looks.push((if bound.is_nan() { f64::INFINITY } else { bound }, value));
            looks.sort_by(|one, other| one.0.total_cmp(&other.0));
            if bound < limit || (looks.len() >= ENOUGH && looks[ENOUGH - 1].0 <= AGREE * looks[0].0) {
                break;
            }
        }
        looks.first().copied().ok_or(Unmeasurable::TooMuchRemoved { removed: self.removed })
    }
}

/// Return a length that is longer by a factor, within the strides.
fn longer(length: u64, factor: f64) -> u64 {
    let factor = if factor.is_finite() { factor.clamp(STRIDES.0, STRIDES.1) } else { STRIDES.1 };
    (length + 1).max((length as f64 * factor).ceil() as u64)
}

/// Return an answer with the length that was confirmed.
fn raised(found: Found, length: u64, floor: u64, again: usize) -> Found {
    let low = if length > found.length { found.length } else { found.range.0 };
    Found {
        length,
        again: found.again + again,
        range: (low.clamp(floor.min(length), length), found.range.1.max(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::effort::{self, Depth};
    use crate::clock::filter::Filter;
    use crate::clock::search::{difference as differences, shortest as lengths, LARGE};
    use crate::clock::synthetic::Synthetic;
    use crate::samples::samples;
    use std::time::Duration;

    /// Return the number of searches of a cell.
    fn searches() -> usize {
        samples(2, 9)
    }

    /// Return the criteria of a quick evaluation.
    fn quick() -> Criteria {
        let base = Criteria { longest: 8_192, filter: Filter::None, ..Criteria::default() };
        effort::criteria(base, Depth::Usual, Duration::from_millis(600), Duration::from_micros(1))
    }

    /// Return the least t_min of all searches of a cell, and the least t_diff.
    fn reported(meter: &mut Synthetic, criteria: &Criteria) -> (u64, u64) {
        let search = |_| {
            let found = lengths::grid(meter, criteria).unwrap();
            let (t_min, evidence) = shortest(meter, criteria, found).unwrap();
            assert!(evidence.value < criteria.variation && evidence.many == criteria.large, "{evidence:?}");
            let found = differences::grid(meter, criteria, t_min.length).unwrap().found;
            let (t_diff, evidence) = difference(meter, criteria, t_min.length, found).unwrap();
            assert!(evidence.null.unwrap() > 0.2 && evidence.value <= 0.05, "{evidence:?}");
            (t_min.length, t_diff.length)
        };
        let found: Vec<(u64, u64)> = (0..searches()).map(search).collect();
        *found.iter().min().unwrap()
    }

    /// Return whether both figures hold on data that no search has seen.
    fn holds(meter: &mut Synthetic, (t_min, t_diff): (u64, u64)) -> bool {
        let sets = meter.sets(&[t_min, t_min + t_diff], LARGE);
        variation(&sets[0].values, meter.cost) < 0.01 && overlap(&sets[0].values, &sets[1].values) <= 0.05
    }

    fn many_hold(timer: impl Fn(u64) -> Synthetic, range: std::ops::Range<u64>) {
        let seeds = samples(1, 100);
        let held = (0..seeds).filter(|seed| {
            let mut meter = timer(*seed);
            let found = reported(&mut meter, &quick());
            assert!(range.contains(&found.0), "seed {seed}: {found:?}");
            holds(&mut meter, found)
        });
        assert!(held.count() as u64 * 100 >= 95 * seeds);
    }

    #[test]
    fn figures_of_a_timer_without_a_step_hold_on_fresh_data() {
        // The answer is 28.4 w plus the margin.
        many_hold(|seed| Synthetic { noise: 10.0, ..Synthetic::new(seed) }, 278..310);
    }

    #[test]
    fn figures_of_a_timer_with_a_step_hold_on_fresh_data() {
        many_hold(|seed| Synthetic { step: 10.0, ..Synthetic::new(seed) }, 500..530);
    }

    #[test]
    fn figures_of_a_counter_whose_phase_locks_hold_on_fresh_data() {
        // For 150 measurements in a row all reads have one phase: short sets do not vary at all.
        many_hold(|seed| Synthetic { step: 10.0, locked: 150, ..Synthetic::new(seed) }, 500..530);
    }

    #[test]
    fn bursts_of_other_load_do_not_raise_the_figures() {
        let burst = |seed| Synthetic { noise: 10.0, bursts: (0.5, 8.0), ..Synthetic::new(seed) };
        for seed in 0..samples(1, 100) {
            let found = reported(&mut burst(seed), &quick());
            assert!((278..310).contains(&found.0), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn a_timer_that_no_large_set_confirms_has_a_reason() {
        let mut meter = Synthetic { noise: 400.0, ..Synthetic::new(1) };
        let found = Found { length: 300, again: 0, range: (280, 300) };
        let refused = shortest(&mut meter, &quick(), found);
        assert!(matches!(refused, Err(Unmeasurable::TooNoisy { longest: 8_192, .. })), "{refused:?}");
        let mut meter = Synthetic { left: 10, ..meter };
        let late = shortest(&mut meter, &quick(), found);
        assert!(matches!(late, Err(Unmeasurable::OutOfTime { .. })), "{late:?}");
    }
}
