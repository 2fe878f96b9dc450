//! The two metrics, and two ways of looking for each.
//!
//! t_min is the shortest work whose cleaned measurements vary by less than ε (standard deviation over mean). t_diff is the
//! smallest difference Δ at which two lengths can be told apart: at most a share α of the longer's measurements is not
//! above the largest of the shorter's.
//!
//! Neither gets better with every step of length: by chance, and because the error of a counter with steps vanishes at each of
//! its multiples. So there is no bisection. `published` scans upwards as the paper does; `grid` asks for the smallest
//! length from which on all longer ones pass.

pub mod confirm;
pub mod difference;
pub mod grid;
pub mod published;
pub mod shortest;

use super::filter::{Cleaned, Filter};
use super::meter::{Meter, Set};

/// Measurements of the set that confirms an answer, where time allows (the paper's N).
pub const LARGE: usize = 10_000;

/// The limits to pass, and how often it is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// Measurements of a set (published: 10,000).
    pub many: usize,
    /// Measurements of the set that confirms an answer.
    pub large: usize,
    /// Largest coefficient of variation (published: 0.01).
    pub variation: f64,
    /// Sets of a length at most (published: 1), and how many that pass are enough: what others do on the machine only adds
    /// scatter, so that a set that fails says less of the timer than one that passes. Two of 24: a timer whose own scatter is
    /// a tenth above the limit is taken for good at one length in three by sets of 100, but not there, at its fresh sets and
    /// at all that are longer as well.
    pub tries: usize,
    /// See `tries`.
    pub enough: usize,
    /// Fresh sets that must all pass (published: 30), each with as many tries.
    pub fresh: usize,
    /// Largest share of overlap (published: 0.05).
    pub overlap: f64,
    /// Pairs of lengths that must all pass (published: 80).
    pub pairs: usize,
    /// Searches of `grid`, whose median and range are reported.
    pub repetitions: usize,
    /// Places within a step of the counter at which a length is looked at: the error is largest half-way.
    pub places: u64,
    /// Whether what lies between two lengths of the grid is looked at.
    pub refine: bool,
    /// Where the search begins: a length that passed elsewhere, for example; 0: nothing is known.
    pub near: u64,
    /// Lengths above this are given up.
    pub longest: u64,
    /// The way to tell what the operating system added.
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

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Unmeasurable {
    /// Nothing passed up to the longest length.
    #[error(
        "noise: nothing up to {longest} additions passed; the steadiest measurements varied by {:.2} %, not less than 1 %",
        variation * 100.0
    )]
    TooNoisy {
        /// The smallest coefficient of variation that was seen.
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
    /// More was taken out of a set than may be.
    #[error("noise: {:.1} % of the measurements would have to be taken out as the operating system's, above 1 %", removed * 100.0)]
    TooMuchRemoved {
        /// The largest share.
        removed: f64,
    },
    /// Two sets of the same length were told apart, so that no difference means anything.
    #[error("work of equal length was called different")]
    NullPassed,
    /// The time that was given is used up.
    #[error("budget: its time was used up after {sets} sets of measurements")]
    OutOfTime {
        /// Sets that were measured.
        sets: usize,
    },
}

/// The answer of a look at a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Passed,
    Failed,
    /// The operating system took part too often: this does not judge the timer.
    Unknown,
}

/// A length from which on all longer ones pass, and the next shorter one that was looked at, which does not; 0: the
/// shortest of all passes.
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
    /// Sets that were measured again, since too much of them would have had to be taken out.
    pub again: usize,
    /// The smallest and the largest; of one that could not be refined, the length below it that failed, and itself.
    pub range: (u64, u64),
}

impl Found {
    fn of(mut lengths: Vec<u64>, again: usize) -> Option<Found> {
        lengths.sort_unstable();
        let (first, last) = (*lengths.first()?, *lengths.last()?);
        Some(Found { again, length: lengths[(lengths.len() - 1) / 2], range: (first, last) })
    }

    /// Put searches together that each ended with a bracket.
    fn of_brackets(found: &[Bracket], again: usize) -> Option<Found> {
        let one = Found::of(found.iter().map(|bracket| bracket.length).collect(), again)?;
        let below = found.iter().map(|bracket| bracket.below).min()?;
        Some(if found.len() == 1 { Found { range: (below, one.length), ..one } } else { one })
    }
}

/// A meter with its criteria: what both searches ask, and the largest share that had to be taken out of any set.
pub(crate) struct Trial<'a> {
    pub meter: &'a mut dyn Meter,
    pub criteria: &'a Criteria,
    pub removed: f64,
    /// Sets that were measured again, since too much of them would have had to be taken out.
    pub again: usize,
    /// Sets that were measured.
    pub measured: usize,
    /// The smallest coefficient of variation that was seen; and whether any set said something.
    pub steadiest: f64,
}

/// The number of times in a row that a set is measured again: other load comes in bursts that are longer than a set.
pub(super) const AGAIN: usize = 12;

impl<'a> Trial<'a> {
    pub fn new(meter: &'a mut dyn Meter, criteria: &'a Criteria) -> Trial<'a> {
        Trial { meter, criteria, removed: 0.0, again: 0, measured: 0, steadiest: f64::INFINITY }
    }

    /// Cleaned sets of lengths that are measured in turns; None where too much of one had to be taken out. Such a set says
    /// nothing of the timer and is measured again, some times in a row.
    pub fn sets(&mut self, lengths: &[u64]) -> Result<Option<Vec<Cleaned>>, Unmeasurable> {
        for turn in 0..=AGAIN {
            self.again += usize::from(turn > 0);
            if let Some(sets) = self.sets_once(lengths)? {
                return Ok(Some(sets));
            }
        }
        Ok(None)
    }

    /// Whether sets of lengths that are measured in turns pass: as many as must, of those that may be tried.
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

    /// The shortest length that is reported: fifty steps of the counter. A shorter one varies less only where the phase of
    /// the counter is locked to the work, as the next work will not be.
    pub fn floor(&self) -> u64 {
        self.meter.quantum().map_or(0, |step| (step.length / (2.0 * self.criteria.variation)).ceil() as u64)
    }

    /// The reason why nothing was found: too much taken out where that kept lengths from being judged, else noise.
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
