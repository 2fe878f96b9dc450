//! One timer at one flush size: its cost, t_min and t_diff, and what they rest on.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde::Serialize;

use super::bench::Bench;
use super::caches::Flush;
use super::chain::Check;
use super::effort::{self, Depth};
use super::filter::{Cleaned, Filter};
use super::meter::{Meter, Set};
use super::search::confirm::{self, Evidence};
use super::search::{difference, shortest, Criteria, Found, Unmeasurable, AGAIN};
use super::statistics::{median, variation, Separation};
use super::timer::measure::context_switches;
use super::timer::{Description, Unit};
use crate::time::Clock as _;

/// Values and how often each was read: what a set of measurements is, since clocks have steps.
pub type Histogram = BTreeMap<i64, u32>;

/// A length that was found, as time of the work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Length {
    /// Additions.
    pub additions: u64,
    /// Nanoseconds: additions at the core's clock of this cell; the least of the searches.
    pub ns: f64,
    /// The median of the searches (of an even number the longer of the two), in ns.
    pub typical_ns: f64,
    /// The smallest and the largest of the searches, in ns.
    pub range_ns: (f64, f64),
    /// Measurements of the fresh sets that confirmed the least.
    pub confirmed: usize,
    /// The coefficient of variation (t_min) or share of overlap (t_diff) of these sets.
    pub value: f64,
    /// The share of overlap of two sets of one length (t_diff only): the null control.
    pub null: Option<f64>,
}

impl Length {
    fn of(found: Found, evidence: Evidence, check: &Check) -> Length {
        let ns = |length: u64| length as f64 * check.addition_ns;
        Length {
            confirmed: evidence.many,
            value: evidence.value,
            null: evidence.null,
            additions: found.length,
            ns: ns(found.length),
            typical_ns: ns(found.length),
            range_ns: (ns(found.range.0), ns(found.range.1)),
        }
    }

    /// Put several searches together: the least, since what else runs on a machine only adds scatter; their median and
    /// their range.
    fn least(mut found: Vec<Length>) -> Option<Length> {
        found.sort_by(|one, other| one.ns.total_cmp(&other.ns));
        let low = found.iter().map(|each| each.range_ns.0).fold(f64::INFINITY, f64::min);
        let high = found.iter().map(|each| each.range_ns.1).fold(0.0, f64::max);
        let typical_ns = found.get(found.len() / 2)?.ns;
        found.first().map(|least| Length { range_ns: (low, high), typical_ns, ..*least })
    }
}

/// The report of a cell. Costs, quantum and medians are in ns, or in cycles for a timer of cycles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The timer's name.
    pub timer: &'static str,
    /// The timer.
    pub meaning: &'static str,
    /// "nanoseconds" or "cycles": of costs, quantum and medians.
    pub unit: Unit,
    /// The flush's name, and what is written before each measurement.
    pub flush: &'static str,
    /// See `flush`.
    pub flush_bytes: u64,
    /// Measurements of a set, repetitions of a search, and fresh sets and pairs that confirm it.
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
    /// The shortest work, or why there is none.
    pub t_min: Option<Length>,
    /// See `t_min`.
    pub no_t_min: Option<String>,
    /// The smallest difference, or why there is none.
    pub t_diff: Option<Length>,
    /// See `t_diff`.
    pub no_t_diff: Option<String>,
    /// t_min is that of the counter's step, within a quarter: no timer that reads this counter can do better.
    pub quantum_binds: bool,
    /// The step is longer than t_diff, which therefore is known to be at most that.
    pub t_diff_below_quantum: bool,
    /// Probability that a measurement of the longer of two lengths that differ by t_diff is above one of the shorter.
    pub area: Option<f64>,
    /// Error of the best threshold between them.
    pub error: Option<f64>,
    /// Figures of a last set, at t_min: the coefficient of variation as measured and cleaned, the share that was taken
    /// out, and the shift of the median between its halves over the median.
    pub raw_variation: f64,
    /// See `raw_variation`.
    pub cleaned_variation: f64,
    /// See `raw_variation`.
    pub removed: f64,
    /// See `raw_variation`.
    pub shift: f64,
    /// Sets that were measured again, since too much of them would have had to be taken out.
    pub again: usize,
    /// The measured values: additions, and how often each value was read, in ns or cycles times 1000.
    pub reference_additions: u64,
    /// See `reference_additions`.
    pub reference: Histogram,
    /// Context switches of the thread during the cell, and steal of its processor in ns.
    pub context_switches: i64,
    /// See `context_switches`; None: the kernel does not tell.
    pub steal_ns: Option<u64>,
    /// Nanoseconds of an addition, and a multiplication over an addition, before the cell.
    pub check: Check,
    /// The time that the cell took, all its searches together.
    pub elapsed_ns: u64,
    /// The number of searches.
    pub tries: u32,
    /// The result of each search.
    #[serde(skip)]
    pub found: Vec<Answers>,
}

impl Cell {
    /// Whether it has both answers.
    pub fn answered(&self) -> bool {
        self.t_min.is_some() && self.t_diff.is_some()
    }

    /// Return the report of a cell after one more search: figures are the least of all that were found, the rest is that
    /// of the search with more answers; of as many, the later.
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

    /// Return the cell with its confirmed figures: these count, with the searches' range and median.
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

    /// Say what the counter's step makes of what was found.
    fn mark(&mut self) {
        let unit = if self.unit == Unit::Cycles { 1.0 } else { self.check.addition_ns };
        let Some(step) = self.quantum.map(|quantum| quantum / unit) else { return };
        if let Some(found) = self.t_min {
            self.quantum_binds =
                found.additions as f64 <= BINDS * step / (2.0 * Criteria::default().variation);
        }
        self.t_diff_below_quantum = self.t_diff.is_some_and(|found| (found.additions as f64) < step);
    }
}

/// The result of a search: t_min and t_diff.
pub type Answers = (Option<Length>, Option<Length>);

/// The request for a cell.
pub struct Asked<'a> {
    /// The timer.
    pub description: Description,
    /// The flush.
    pub flush: &'a Flush,
    /// The way to tell the operating system's share.
    pub filter: Filter,
    /// The published search, with its numbers; otherwise the grid, with numbers that fit the time.
    pub published: bool,
    /// The end of the grid where there is time.
    pub depth: Depth,
    /// A length at which another cell of the timer passed; 0: none is known.
    pub near: u64,
    /// Time.
    pub time: Duration,
}

/// t_min within this factor of what the step alone allows is the step's.
const BINDS: f64 = 1.25;
/// Where the search gives up: first here, and further up only where nothing passed.
const LONGEST: [u64; 4] = [8_192, 32_768, 131_072, 524_288];
/// The share of the time at which the search for t_min, its confirmation, and the search for t_diff end.
const SEARCHED: [f64; 3] = [0.5, 0.65, 0.85];
/// Additions of the last set where there is no t_min.
const REFERENCE: u64 = 1_024;

/// Measure a cell.
pub fn measure(asked: &Asked, mut bench: Bench, check: Check, cpu: u32) -> Cell {
    let begun = Begun::now(&bench, cpu);
    let base = Criteria { filter: asked.filter, near: asked.near, ..Criteria::default() };
    let criteria =
        if asked.published { base } else { effort::criteria(base, asked.depth, asked.time, bench.each) };
    let (t_min, t_diff) = answers(asked, &criteria, &mut bench, begun.ns);
    let mut cell = described(asked, &criteria, bench, check, begun, (t_min, t_diff));
    cell.repetitions = if asked.published { 1 } else { criteria.repetitions };
    cell.tries = 1;
    cell.found = vec![(cell.t_min, cell.t_diff)];
    cell
}

/// Confirm the figures of a cell that was searched, with sets as large as the time allows; None where that leaves none.
pub fn confirmed(asked: &Asked, mut bench: Bench, check: Check, cpu: u32, known: &Cell) -> Option<Cell> {
    let begun = Begun::now(&bench, cpu);
    let large = effort::largest(asked.time, bench.each);
    let criteria = Criteria { filter: asked.filter, large, many: known.many, ..Criteria::default() };
    let criteria = Criteria { fresh: known.fresh, pairs: known.pairs, ..criteria };
    let found = |length: Length| Found { length: length.additions, again: 0, range: (1, length.additions) };
    bench.ends(begun.ns, asked.time.mul_f64(SEARCHED[1]));
    let t_min = confirm::shortest(&mut bench, &unlimited(&criteria), found(known.t_min?)).ok()?;
    bench.ends(begun.ns, asked.time);
    let t_diff = confirm::difference(&mut bench, &criteria, t_min.0.length, found(known.t_diff?)).ok()?;
    Some(described(asked, &criteria, bench, check, begun, (Ok(t_min), Ok((None, t_diff)))))
}

/// When a cell was begun, and what the machine had counted then.
struct Begun {
    ns: i64,
    cpu: u32,
    switches: i64,
    steal: Option<u64>,
}

impl Begun {
    fn now(bench: &Bench, cpu: u32) -> Begun {
        Begun { ns: bench.time.now_ns(), cpu, switches: context_switches(), steal: steal_ns(cpu) }
    }
}

/// A cell with these answers.
fn described(
    asked: &Asked,
    criteria: &Criteria,
    mut bench: Bench,
    check: Check,
    begun: Begun,
    (t_min, t_diff): (Result<Confirmed, Unmeasurable>, Result<Told, Unmeasurable>),
) -> Cell {
    let reference_additions = t_min.map_or(REFERENCE, |(found, _)| found.length);
    let reference_many = if t_min.is_ok() { criteria.large } else { criteria.many };
    let quantum = bench.quantum();
    let step = quantum.map_or(0.0, |quantum| quantum.value);
    let (reference, cleaned) = calm(&mut bench, reference_additions, reference_many, asked.filter, step);
    let separation = t_diff.ok().and_then(|found| found.0);
    let reason = |found: Option<Unmeasurable>| found.map(|reason| reason.to_string());
    let mut cell = Cell {
        timer: asked.description.name,
        meaning: asked.description.meaning,
        unit: if asked.description.unit == Unit::Cycles { Unit::Cycles } else { Unit::Nanoseconds },
        flush: asked.flush.name,
        flush_bytes: asked.flush.bytes,
        many: criteria.many,
        repetitions: 1,
        fresh: criteria.fresh,
        pairs: criteria.pairs,
        smallest_cost: bench.cost(),
        median_cost: bench.median_cost(),
        quantum: quantum.map(|quantum| quantum.value),
        t_min: t_min.ok().map(|(found, evidence)| Length::of(found, evidence, &check)),
        no_t_min: reason(t_min.err()),
        t_diff: t_diff.ok().map(|(_, (found, evidence))| Length::of(found, evidence, &check)),
        no_t_diff: if t_min.is_ok() { reason(t_diff.err()) } else { Some("there is no t_min".to_owned()) },
        quantum_binds: matches!(t_min, Err(Unmeasurable::QuantumBinds { .. })),
        t_diff_below_quantum: false,
        area: separation.map(|found| found.area),
        error: separation.map(|found| found.error),
        raw_variation: finite(variation(&reference.values, bench.cost())),
        cleaned_variation: finite(variation(&cleaned.values, bench.cost())),
        removed: cleaned.removed,
        again: t_min.map_or(0, |found| found.0.again) + t_diff.map_or(0, |found| found.1 .0.again),
        shift: shift(&reference),
        reference_additions,
        reference: histogram(&reference),
        context_switches: context_switches() - begun.switches,
        steal_ns: begun.steal.and_then(|before| steal_ns(begun.cpu).map(|now| now.saturating_sub(before))),
        check,
        elapsed_ns: bench.time.since(begun.ns).as_nanos() as u64,
        tries: 0,
        found: Vec::new(),
    };
    cell.mark();
    cell
}

/// The confirmed answer, or why there is nothing: t_min, and t_diff with how well such lengths can be told apart.
type Confirmed = (Found, Evidence);
/// See `Confirmed`.
type Told = (Option<Separation>, Confirmed);

/// Search for both figures with short sets, and confirm each with large ones.
fn answers(
    asked: &Asked,
    criteria: &Criteria,
    bench: &mut Bench,
    begun_ns: i64,
) -> (Result<Confirmed, Unmeasurable>, Result<Told, Unmeasurable>) {
    let part = |share: f64| asked.time.mul_f64(share);
    bench.ends(begun_ns, part(SEARCHED[0]));
    let searched = search(bench, criteria, asked.published);
    bench.ends(begun_ns, part(SEARCHED[1]));
    let t_min = searched.and_then(|found| confirm::shortest(bench, &unlimited(criteria), found));
    bench.ends(begun_ns, part(SEARCHED[2]));
    let t_diff = t_min.and_then(|(found, _)| {
        let searched = match asked.published {
            true => difference::published(bench, criteria, found.length),
            false => difference::grid(bench, criteria, found.length),
        }?;
        bench.ends(begun_ns, asked.time);
        let confirmed = confirm::difference(bench, criteria, found.length, searched.found)?;
        Ok((searched.separation, confirmed))
    });
    (t_min, t_diff)
}

/// An answer of short sets may be raised to the longest length there is.
fn unlimited(criteria: &Criteria) -> Criteria {
    Criteria { longest: LONGEST[LONGEST.len() - 1], ..*criteria }
}

/// The last set: measured again, as those of the searches are, while too much of it would have to be taken out.
fn calm(bench: &mut Bench, length: u64, many: usize, filter: Filter, step: f64) -> (Set, Cleaned) {
    let mut measured = || {
        let set = bench.sets(&[length], many).swap_remove(0);
        let cleaned = filter.clean(&set, step);
        (set, cleaned)
    };
    let mut best = measured();
    for _ in 0..AGAIN {
        if best.1.measurable() {
            break;
        }
        let next = measured();
        if next.1.removed < best.1.removed {
            best = next;
        }
    }
    best
}

/// t_min, looked for among short lengths first: long ones take their time.
fn search(bench: &mut Bench, criteria: &Criteria, published: bool) -> Result<Found, Unmeasurable> {
    if published {
        return shortest::published(bench, criteria);
    }
    let mut last = shortest::grid(bench, &Criteria { longest: LONGEST[0], ..*criteria });
    for longest in &LONGEST[1..] {
        if !matches!(last, Err(Unmeasurable::TooNoisy { .. } | Unmeasurable::QuantumBinds { .. })) {
            break;
        }
        last = shortest::grid(bench, &Criteria { longest: *longest, ..*criteria });
    }
    last
}

/// JSON has no infinity.
fn finite(value: f64) -> f64 {
    if value.is_finite() {
        value
    } else {
        f64::MAX
    }
}

/// The shift of the median from the first half to the second, over the median.
fn shift(set: &Set) -> f64 {
    let (first, second) = set.values.split_at(set.values.len() / 2);
    finite((median(second) - median(first)) / median(&set.values))
}

fn histogram(set: &Set) -> Histogram {
    let mut histogram = Histogram::new();
    for value in &set.values {
        *histogram.entry((value * 1e3).round() as i64).or_default() += 1;
    }
    histogram
}

/// Time that a hypervisor gave to others, by /proc/stat in ticks of USER_HZ.
fn steal_ns(cpu: u32) -> Option<u64> {
    steal_of(&fs::read_to_string("/proc/stat").ok()?, cpu)
}

fn steal_of(stat: &str, cpu: u32) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
    let ticks: u64 = line.split_whitespace().nth(7)?.parse().ok()?;
    Some(ticks * 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number() {
        let stat = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\ncpu1 1 2 3 4 5 6 7 9 9 10\n";
        assert_eq!(
            (steal_of(stat, 0), steal_of(stat, 1), steal_of(stat, 2)),
            (Some(800_000_000), Some(90_000_000), None)
        );
    }

    #[test]
    fn halves_and_histogram_by_hand() {
        let set = Set { values: vec![10.0, 10.0, 10.0, 12.0, 12.0, 12.0], ..Set::default() };
        assert!((shift(&set) - 0.2).abs() < 1e-12);
        assert_eq!(histogram(&set), Histogram::from([(10_000, 3), (12_000, 3)]));
    }
}
