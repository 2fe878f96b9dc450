//! The search for t_min: the shortest work that can be measured.

use super::grid::{self, Ask, Range};
use super::{published, Answer, Criteria, Found, Trial, Unmeasurable};
use crate::clock::meter::Meter;
use crate::clock::statistics::{deviation, variation};

/// The steps of the published scan, in additions.
pub const STEPS: [u64; 5] = [10_000, 1_000, 100, 10, 1];
/// The length where the grid begins.
const FIRST: u64 = 8;
/// Search by the published scan.
pub fn published(meter: &mut dyn Meter, criteria: &Criteria) -> Result<Found, Unmeasurable> {
    let mut trial = Trial::new(meter, criteria);
    let floor = trial.floor();
    let found = published::scan(&STEPS, criteria.longest, |length| {
        Ok(length >= floor && trial.holds(length, 1 + criteria.fresh)? == Answer::Passed)
    })?;
    found.and_then(|length| Found::of(vec![length], trial.again)).ok_or_else(|| trial.reason())
}

/// Search by the grid: return the median and the range of several searches, as many as time allows.
pub fn grid(meter: &mut dyn Meter, criteria: &Criteria) -> Result<Found, Unmeasurable> {
    let mut trial = Trial::new(meter, criteria);
    let mut found = Vec::new();
    let mut start = trial.start()?;
    for _ in 0..criteria.repetitions.max(1) {
        let range = Range {
            first: FIRST.max(trial.floor()),
            longest: criteria.longest,
            start,
            refine: criteria.refine,
        };
        let bracket = grid::search(range, |length, ask| match ask {
            Ask::Once => trial.holds_around(length, criteria.places, 1),
            Ask::Confirm => trial.holds_around(length, criteria.places, criteria.fresh),
            Ask::Closely => trial.holds_around(length, 2 * criteria.places, 1),
        });
        match bracket {
            Err(Unmeasurable::OutOfTime { .. }) if !found.is_empty() => break,
            other => found.push(other?.ok_or_else(|| trial.reason())?),
        }
        start = found[0].length;
    }
    Found::of_brackets(&found, trial.again).ok_or_else(|| trial.reason())
}

/// The length where a search begins if nothing is known.
const USUAL: u64 = 1_024;

impl Trial<'_> {
    /// Return where the search begins: the standard deviation hardly depends on the length, so a set of any
    /// length shows at which length it would be 1 %; and a step alone is short enough from fifty of them on.
    fn start(&mut self) -> Result<u64, Unmeasurable> {
        let limit = self.criteria.variation;
        let steps = self.meter.quantum().map_or(0.0, |step| step.length / (2.0 * limit));
        let near = if self.criteria.near > 0 { self.criteria.near } else { USUAL.max(steps as u64) };
        let Some(sets) = self.sets(&[near])? else { return Ok(near) };
        let length = deviation(&sets[0].values) / limit / self.meter.per_length();
        Ok(if length.is_finite() { length.max(steps) as u64 } else { near })
    }

    /// Return whether a length varies little enough, `sets` times in a row.
    fn holds(&mut self, length: u64, sets: usize) -> Result<Answer, Unmeasurable> {
        for _ in 0..sets {
            let answer = self.passes(&[length], |trial, sets| {
                let variation = variation(&sets[0].values, trial.meter.cost());
                // A value that is not a number, of too few values, is not below either.
                trial.steadiest = trial.steadiest.min(variation);
                variation < trial.criteria.variation
            })?;
            if answer != Answer::Passed {
                return Ok(answer);
            }
        }
        Ok(Answer::Passed)
    }

    /// Return whether that holds at `places` within one step of the counter, from the length on: at a
    /// multiple of the step the error vanishes, which shows nothing about the lengths around it.
    fn holds_around(&mut self, length: u64, places: u64, sets: usize) -> Result<Answer, Unmeasurable> {
        for offset in self.offsets(length, places) {
            match self.holds(length + offset, sets)? {
                Answer::Passed => {}
                other => return Ok(other),
            }
        }
        Ok(Answer::Passed)
    }

    /// Return a number of places within one step of the counter, from a length on.
    pub(super) fn offsets(&self, length: u64, places: u64) -> Vec<u64> {
        let step = self.meter.quantum().map_or(0.0, |quantum| quantum.length);
        // Far above the length where the step alone is short enough, four times that, the step adds a
        // thirtieth to the deviation at most.
        let far = length > 4 * self.floor();
        let places = if far { 1 } else { places.min(step as u64).max(1) };
        let mut offsets: Vec<u64> =
            (0..places).map(|place| (place as f64 * step / places as f64).round() as u64).collect();
        offsets.dedup();
        // Half-way comes first: it mostly fails if any place does.
        let half = offsets.len() / 2;
        offsets.rotate_left(half);
        offsets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::filter::Filter;
    use crate::clock::synthetic::Synthetic;
    use crate::samples::samples;

    fn quick() -> Criteria {
        Criteria {
            many: 2_000,
            fresh: 3,
            repetitions: 1,
            longest: 8_192,
            filter: Filter::None,
            ..Criteria::default()
        }
    }

    fn noisy(seed: u64, noise: f64) -> Synthetic {
        Synthetic { noise, ..Synthetic::new(seed) }
    }

    /// Return whether a number is near the expected one, within a share of it.
    fn near(found: u64, expected: f64, share: f64) -> bool {
        (found as f64 / expected - 1.0).abs() <= share
    }

    #[test]
    fn uniform_noise_over_many_seeds() {
        // The answer is 28.4 w. A set's standard deviation is off by 1 % (one standard error), and fresh ones
        // must all pass.
        for seed in 0..samples(8, 100) {
            let found = grid(&mut noisy(seed, 40.0), &quick()).unwrap();
            assert!(near(found.length, 28.37 * 40.0, 0.06), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn bursts_of_other_load_in_half_of_the_sets_do_not_hide_the_timer() {
        let burst = |seed| Synthetic { bursts: (0.5, 8.0), ..noisy(seed, 10.0) };
        let tried = Criteria { many: 200, fresh: 2, tries: 24, enough: 2, ..quick() };
        for seed in 0..samples(8, 100) {
            // The answer is 28.4 w; of two sets of 200 the luckier is off by 5 % (one standard error), and
            // every longer one must pass.
            let found = grid(&mut burst(seed), &tried).unwrap();
            assert!((0.8..1.1).contains(&(found.length as f64 / 283.7)), "seed {seed}: {found:?}");
        }
        // With one set at each length the bursts decide.
        let once = Criteria { tries: 1, enough: 1, ..tried };
        let hidden = |seed: &u64| grid(&mut burst(*seed), &once).map_or(true, |found| found.length > 2 * 284);
        let seeds = samples(8, 20);
        assert!((0..seeds).filter(hidden).count() as u64 >= seeds * 3 / 4);
    }

    #[test]
    fn a_counter_with_steps_certifies_nothing_below_fifty_of_them() {
        for seed in 0..samples(8, 100) {
            let mut meter = Synthetic { step: 26.0, ..Synthetic::new(seed) };
            let found = grid(&mut meter, &Criteria { many: 300, ..quick() }).unwrap();
            assert!(near(found.length, 50.0 * 26.0, 0.06), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn the_published_scan_finds_noise_and_begins_at_fifty_steps() {
        let criteria = Criteria { fresh: 30, longest: 20_000, many: 2_000, ..quick() };
        for seed in 0..samples(1, 3) {
            let found = published(&mut noisy(seed, 40.0), &criteria).unwrap();
            assert!(near(found.length, 28.37 * 40.0, 0.05), "seed {seed}: {found:?}");
        }
        let mut meter = Synthetic { step: 100.0, ..Synthetic::new(1) };
        let stepped = published(&mut meter, &Criteria { fresh: 3, many: 300, ..criteria }).unwrap();
        assert_eq!(stepped.length, 50 * 100);
    }

    #[test]
    fn the_range_is_of_the_repetitions() {
        let found = grid(&mut noisy(3, 40.0), &Criteria { repetitions: 3, ..quick() }).unwrap();
        assert!(found.range.0 <= found.length && found.length <= found.range.1, "{found:?}");
        assert!(near(found.range.0, 1_135.0, 0.06) && near(found.range.1, 1_135.0, 0.06), "{found:?}");
    }

    #[test]
    fn unmeasurable_lengths_have_a_reason() {
        let found = grid(&mut noisy(1, 4_000.0), &quick());
        assert!(
            matches!(found, Err(Unmeasurable::TooNoisy { longest: 8_192, variation }) if variation > 0.1),
            "{found:?}"
        );
        // With 3 % of interruptions the filter would have to remove more than it may.
        let mut meter = Synthetic { noise: 40.0, interruptions: (0.03, 1e6), ..Synthetic::new(1) };
        let found =
            grid(&mut meter, &Criteria { filter: Filter::Robust, many: samples(500, 2_000), ..quick() });
        assert!(
            matches!(found, Err(Unmeasurable::TooMuchRemoved { removed }) if removed > 0.02),
            "{found:?}"
        );
        let mut meter = Synthetic { left: 10_000, ..noisy(1, 40.0) };
        assert!(matches!(grid(&mut meter, &quick()), Err(Unmeasurable::OutOfTime { sets: 1.. })));
    }

    #[test]
    fn rare_interruptions_do_not_hide_the_noise() {
        let mut meter = Synthetic { noise: 40.0, interruptions: (0.001, 1e5), ..Synthetic::new(5) };
        let found = grid(&mut meter, &Criteria { filter: Filter::Robust, ..quick() }).unwrap();
        assert!(near(found.length, 1_135.0, 0.06), "{found:?}");
    }

    #[test]
    fn the_forest_is_stopped_where_it_takes_good_measurements() {
        // Uniform noise has no outliers; the published threshold removes its edges, and reports how much that
        // would be.
        let set = noisy(5, 4.0).sets(&[512], 1_000).remove(0);
        let cleaned = Filter::Forest { seed: 7 }.clean(&set, 1.0);
        assert!(!cleaned.measurable() && cleaned.removed < 0.2, "{}", cleaned.removed);
        // A whole search needs a hundred forests, each of which takes a tenth of a second without
        // optimisation.
        if samples(false, true) {
            let criteria =
                Criteria { filter: Filter::Forest { seed: 7 }, longest: 512, many: 1_000, ..quick() };
            let found = grid(&mut noisy(5, 4.0), &criteria);
            assert!(
                matches!(found, Err(Unmeasurable::TooMuchRemoved { removed }) if removed < 0.2),
                "{found:?}"
            );
        }
    }
}
