//! The report of a cell: all that is known of one timer at one flush size.

use std::collections::BTreeMap;

use serde::Serialize;

use super::length::Length;
use crate::clock::chain::Check;
use crate::clock::search::Criteria;
use crate::clock::timer::Unit;

/// Values and how often each was read, which describes a set of measurements, since clocks have steps.
pub type Histogram = BTreeMap<i64, u32>;

/// The largest factor between t_min and the length that the step allows at which the step decides t_min.
const BINDS: f64 = 1.25;
/// The result of a search: t_min and t_diff.
pub type Answers = (Option<Length>, Option<Length>);

/// The report of a cell. Costs, quantum and medians are in ns, or in cycles for a timer of cycles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The timer's name.
    pub timer: &'static str,
    /// The timer.
    pub meaning: &'static str,
    /// The unit of costs, quantum and medians: "nanoseconds" or "cycles".
    pub unit: Unit,
    /// The flush's name, and what is written before each measurement.
    pub flush: &'static str,
    /// See `flush`.
    pub flush_bytes: u64,
    /// The numbers of measurements of a set, of repetitions of a search, and of fresh sets and pairs that
    /// confirm it.
    pub many: usize,
    /// See `many`.
    pub repetitions: usize,
    /// See `many`.
    pub fresh: usize,
    /// See `many`.
    pub pairs: usize,
    /// The smallest and the median time of an empty region.
    pub smallest_cost: f64,
    /// See `smallest_cost`.
    pub median_cost: f64,
    /// The step by which the timer advances.
    pub quantum: Option<f64>,
    /// The shortest work, or the reason why there is none.
    pub t_min: Option<Length>,
    /// See `t_min`.
    pub no_t_min: Option<String>,
    /// The smallest difference, or the reason why there is none.
    pub t_diff: Option<Length>,
    /// See `t_diff`.
    pub no_t_diff: Option<String>,
    /// Whether the counter's step decides t_min, within a quarter: then no timer that reads this counter can
    /// do better.
    pub quantum_binds: bool,
    /// Whether the step is longer than t_diff, so that t_diff is only known to be at most the step.
    pub t_diff_below_quantum: bool,
    /// The probability that a measurement of the longer of two lengths that differ by t_diff is above one of
    /// the shorter.
    pub area: Option<f64>,
    /// The error of the best threshold between them.
    pub error: Option<f64>,
    /// The figures of a last set, at t_min: the coefficient of variation as measured and cleaned, the share
    /// that was removed, and the shift of the median between its halves over the median.
    pub raw_variation: f64,
    /// See `raw_variation`.
    pub cleaned_variation: f64,
    /// See `raw_variation`.
    pub removed: f64,
    /// See `raw_variation`.
    pub shift: f64,
    /// The number of sets that were measured again, since too much of them would have had to be removed.
    pub again: usize,
    /// The measured values: additions, and how often each value was read, in ns or cycles times 1000.
    pub reference_additions: u64,
    /// See `reference_additions`.
    pub reference: Histogram,
    /// The context switches of the thread during the cell, and the steal of its processor in ns.
    pub context_switches: i64,
    /// See `context_switches`; None: the kernel does not report it.
    pub steal_ns: Option<u64>,
    /// The nanoseconds of an addition, and the time of a multiplication over that of an addition, before the
    /// cell.
    pub check: Check,
    /// The time of the cell, all its searches together.
    pub elapsed_ns: u64,
    /// The number of searches.
    pub tries: u32,
    /// The result of each search.
    #[serde(skip)]
    pub found: Vec<Answers>,
}

impl Cell {
    /// Return whether it has both answers.
    pub fn answered(&self) -> bool {
        self.t_min.is_some() && self.t_diff.is_some()
    }

    /// Return the report of a cell after one more search: the figures are the least of all searches, the rest
    /// is from the search with more answers; with equally many, from the later one.
    pub fn with(self, later: Cell) -> Cell {
        let rank = |cell: &Cell| (cell.t_min.is_some(), cell.t_diff.is_some());
        let found = [self.found.as_slice(), later.found.as_slice()].concat();
        let among = |of: fn(&Answers) -> Option<Length>| Length::least(found.iter().filter_map(of).collect());
        let (t_min, t_diff) = (among(|answers| answers.0), among(|answers| answers.1));
        let repetitions = found.iter().filter(|answers| answers.0.is_some()).count();
        let sums = Cell {
            tries: self.tries + later.tries,
            again: self.again + later.again,
            context_switches: self.context_switches + later.context_switches,
            steal_ns: self.steal_ns.zip(later.steal_ns).map(|(one, other)| one + other),
            elapsed_ns: self.elapsed_ns + later.elapsed_ns,
            ..if rank(&later) >= rank(&self) { later } else { self }
        };
        let mut cell = Cell {
            no_t_min: sums.no_t_min.clone().filter(|_| t_min.is_none()),
            no_t_diff: sums.no_t_diff.clone().filter(|_| t_diff.is_none()),
            repetitions: repetitions.max(1),
            t_min,
            t_diff,
            found,
            ..sums
        };
        cell.mark();
        cell
    }

    /// Return the cell with its confirmed figures: these count, together with the searches' range and median.
    pub fn confirmed_by(self, last: Cell) -> Cell {
        let with = |last: Option<Length>, known: Option<Length>| {
            last.zip(known).map(|(last, known)| Length {
                typical_ns: f64::max(known.typical_ns, last.ns),
                range_ns: (f64::min(known.range_ns.0, last.ns), f64::max(known.range_ns.1, last.ns)),
                ..last
            })
        };
        Cell {
            t_min: with(last.t_min, self.t_min),
            t_diff: with(last.t_diff, self.t_diff),
            area: self.area,
            error: self.error,
            repetitions: self.repetitions,
            tries: self.tries,
            again: self.again + last.again,
            context_switches: self.context_switches + last.context_switches,
            steal_ns: self.steal_ns.zip(last.steal_ns).map(|(one, other)| one + other),
            elapsed_ns: self.elapsed_ns + last.elapsed_ns,
            found: self.found,
            ..last
        }
    }

    /// Record how the counter's step limits the result.
    pub(super) fn mark(&mut self) {
        let unit = if self.unit == Unit::Cycles { 1.0 } else { self.check.addition_ns };
        let Some(step) = self.quantum.map(|quantum| quantum / unit) else { return };
        if let Some(found) = self.t_min {
            self.quantum_binds =
                found.additions as f64 <= BINDS * step / (2.0 * Criteria::default().variation);
        }
        self.t_diff_below_quantum = self.t_diff.is_some_and(|found| (found.additions as f64) < step);
    }
}
