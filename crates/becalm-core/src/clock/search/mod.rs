//! The two metrics, and two searches for each.
//!
//! t_min is the shortest work with cleaned measurements that vary by less than ε (standard deviation over
//! mean). t_diff is the smallest difference Δ at which two lengths can be distinguished: at most a share α of
//! the longer's measurements is not above the largest of the shorter's.
//!
//! Neither improves with every step of length: by chance, and because the error of a counter with steps
//! vanishes at each of its multiples. So there is no bisection. `published` scans upwards as the paper does;
//! `grid` looks for the smallest length from which on all longer ones pass.

pub mod confirm;
pub mod difference;
pub mod grid;
pub mod published;
pub mod shortest;

use super::filter::{Cleaned, Filter};
use super::meter::{Meter, Set};

/// The measurements of the set that confirms an answer, if time allows (the paper's N).
pub const LARGE: usize = 10_000;

/// The limits to pass, and the numbers of tries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// The measurements of a set (published: 10,000).
    pub many: usize,
    /// The measurements of the set that confirms an answer.
    pub large: usize,
    /// The largest coefficient of variation (published: 0.01).
    pub variation: f64,
    /// The largest number of sets of a length (published: 1), and the number that must pass: other programs
    /// on the machine only add scatter, so that a set that fails shows less about the timer than one that
    /// passes. Two of 24: a timer with scatter a tenth above the limit passes with sets of 100 at one length
    /// in three, but not at the fresh sets of that length and at all longer lengths as well.
    pub tries: usize,
    /// See `tries`.
    pub enough: usize,
    /// The fresh sets that must all pass (published: 30), each with as many tries.
    pub fresh: usize,
    /// The largest share of overlap (published: 0.05).
    pub overlap: f64,
    /// The pairs of lengths that must all pass (published: 80).
    pub pairs: usize,
    /// The number of searches of `grid`, of which the median and range are reported.
    pub repetitions: usize,
    /// The places within a step of the counter at which a length is measured: the error is largest half-way.
    pub places: u64,
    /// Whether lengths between two of the grid are searched.
    pub refine: bool,
    /// The length where the search begins: one that passed elsewhere, for example; 0: nothing is known.
    pub near: u64,
    /// The longest length that is tried.
    pub longest: u64,
    /// The filter for the operating system's share.
    pub filter: Filter,
}

impl Default for Criteria {
    fn default() -> Criteria {
        Criteria {
            many: 10_000,
            large: LARGE,
            variation: 0.01,
            tries: 1,
            enough: 1,
            fresh: 30,
            overlap: 0.05,
            pairs: 80,
            repetitions: 3,
            places: 4,
            refine: true,
            near: 0,
            longest: 1 << 17,
            filter: Filter::Robust,
        }
    }
}

/// The reason why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Unmeasurable {
    /// Nothing passed up to the longest length.
    #[error(
        "noise: nothing up to {longest} additions passed; the steadiest measurements varied by {:.2} %, not less than 1 %",
        variation * 100.0
    )]
    TooNoisy {
        /// The smallest coefficient of variation of any set.
        variation: f64,
        /// The longest length.
        longest: u64,
    },
    /// No difference up to the shortest length itself was seen.
    #[error("noise: two lengths overlap even where one is twice the other")]
    Overlap,
    /// The step of the counter alone varies by more than 1 % up to the longest length.
    #[error("the counter's step binds: only from {shortest} additions on is it short enough, and {longest} are the most")]
    QuantumBinds {
        /// Fifty steps.
        shortest: u64,
        /// The longest length.
        longest: u64,
    },
    /// More was removed from a set than may be.
    #[error("noise: {:.1} % of the measurements were disturbed by the operating system, and at most 1 % may be removed", removed * 100.0)]
    TooMuchRemoved {
        /// The largest share.
        removed: f64,
    },
    /// Two sets of the same length were distinguished, so no difference means anything.
    #[error("work of equal length was called different")]
    NullPassed,
    /// The time is used up.
    #[error("budget: its time was used up after {sets} sets of measurements")]
    OutOfTime {
        /// The sets that were measured.
        sets: usize,
    },
}

/// The answer of a look at a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Passed,
    Failed,
    /// Too many measurements were disturbed by the operating system: this does not judge the timer.
    Unknown,
}

/// A length from which on all longer ones pass, and the next shorter one that was measured, which does not;
/// 0: the shortest of all passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bracket {
    pub length: u64,
    pub below: u64,
}

/// A length that was found: the median of the repetitions, and their range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The median.
    pub length: u64,
    /// The sets that were measured again, since too much of them would have had to be removed.
    pub again: usize,
    /// The smallest and the largest; for one that could not be refined, the length below it that failed, and
    /// itself.
    pub range: (u64, u64),
}

impl Found {
    fn of(mut lengths: Vec<u64>, again: usize) -> Option<Found> {
        lengths.sort_unstable();
        let (first, last) = (*lengths.first()?, *lengths.last()?);
        Some(Found { again, length: lengths[(lengths.len() - 1) / 2], range: (first, last) })
    }

    /// Combine searches that each ended with a bracket.
    fn of_brackets(found: &[Bracket], again: usize) -> Option<Found> {
        let one = Found::of(found.iter().map(|bracket| bracket.length).collect(), again)?;
        let below = found.iter().map(|bracket| bracket.below).min()?;
        Some(if found.len() == 1 { Found { range: (below, one.length), ..one } } else { one })
    }
}

/// A meter with its criteria, which both searches use, and the largest share that had to be removed from any
/// set.
pub(crate) struct Trial<'a> {
    pub meter: &'a mut dyn Meter,
    pub criteria: &'a Criteria,
    pub removed: f64,
    /// The sets that were measured again, since too much of them would have had to be removed.
    pub again: usize,
    /// The sets that were measured.
    pub measured: usize,
    /// The smallest coefficient of variation of any set; infinite if no set was usable.
    pub steadiest: f64,
}

/// The number of times in a row that a set is measured again: bursts of other load are longer than a set.
pub(super) const AGAIN: usize = 12;

impl<'a> Trial<'a> {
    pub fn new(meter: &'a mut dyn Meter, criteria: &'a Criteria) -> Trial<'a> {
        Trial { meter, criteria, removed: 0.0, again: 0, measured: 0, steadiest: f64::INFINITY }
    }

    /// Measure lengths in turns and return their cleaned sets; None if too much of one had to be removed.
    /// Such a set shows nothing about the timer and is measured again, several times in a row.
    pub fn sets(&mut self, lengths: &[u64]) -> Result<Option<Vec<Cleaned>>, Unmeasurable> {
        for turn in 0..=AGAIN {
            self.again += usize::from(turn > 0);
            if let Some(sets) = self.sets_once(lengths)? {
                return Ok(Some(sets));
            }
        }
        Ok(None)
    }

    /// Return whether sets of lengths that are measured in turns pass: as many as must, of those that may be
    /// tried.
    pub fn passes(
        &mut self,
        lengths: &[u64],
        passes: impl Fn(&mut Self, &[Cleaned]) -> bool,
    ) -> Result<Answer, Unmeasurable> {
        let (tries, needed) = (self.criteria.tries, self.criteria.enough);
        let (mut passed, mut failed, mut unknown) = (0, 0, 0);
        while passed < needed && failed <= tries - needed && unknown <= tries.max(AGAIN) {
            match self.sets_once(lengths)? {
                None => unknown += 1,
                Some(sets) if passes(self, &sets) => passed += 1,
                Some(_) => failed += 1,
            }
        }
        self.again += unknown;
        Ok(match (passed >= needed, failed > 0) {
            (true, _) => Answer::Passed,
            (false, true) => Answer::Failed,
            (false, false) => Answer::Unknown,
        })
    }

    fn sets_once(&mut self, lengths: &[u64]) -> Result<Option<Vec<Cleaned>>, Unmeasurable> {
        if self.meter.exhausted() {
            return Err(match self.removed {
                removed if removed > 0.0 && self.steadiest.is_infinite() => {
                    Unmeasurable::TooMuchRemoved { removed }
                }
                _ => Unmeasurable::OutOfTime { sets: self.measured },
            });
        }
        self.measured += lengths.len();
        let quantum = self.meter.quantum().map_or(0.0, |quantum| quantum.value);
        let clean = |set: &Set| self.criteria.filter.clean(set, quantum);
        let sets: Vec<Cleaned> = self.meter.sets(lengths, self.criteria.many).iter().map(clean).collect();
        let most = sets.iter().map(|set| set.removed).fold(0.0, f64::max);
        if sets.iter().all(Cleaned::measurable) {
            return Ok(Some(sets));
        }
        self.removed = self.removed.max(most);
        Ok(None)
    }

    /// Return the shortest length that is reported: fifty steps of the counter. A shorter one varies less
    /// only if the phase of the counter is locked to the work, which cannot be expected of other work.
    pub fn floor(&self) -> u64 {
        self.meter.quantum().map_or(0, |step| (step.length / (2.0 * self.criteria.variation)).ceil() as u64)
    }

    /// Return why nothing was found: too much was removed to judge lengths, or else noise.
    pub fn reason(&self) -> Unmeasurable {
        let longest = self.criteria.longest;
        let shortest = self.floor();
        if shortest > longest {
            Unmeasurable::QuantumBinds { shortest, longest }
        } else if self.removed > 0.0 && !(self.criteria.variation..f64::INFINITY).contains(&self.steadiest) {
            Unmeasurable::TooMuchRemoved { removed: self.removed }
        } else {
            Unmeasurable::TooNoisy { variation: self.steadiest, longest }
        }
    }
}
