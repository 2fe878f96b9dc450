//! One timer at one flush size: its cost, t_min and t_diff, and the evidence for them.

mod length;
mod report;
mod steal;

use std::time::Duration;

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

pub use length::Length;
pub use report::{Answers, Cell, Histogram};
use steal::steal_ns;

/// The request for a cell.
pub struct Asked<'a> {
    /// The timer.
    pub description: Description,
    /// The flush.
    pub flush: &'a Flush,
    /// The way to separate the operating system's share.
    pub filter: Filter,
    /// The published search, with its numbers; otherwise the grid, with numbers that fit the time.
    pub published: bool,
    /// The end of the grid if there is enough time.
    pub depth: Depth,
    /// A length at which another cell of the timer passed; 0: none is known.
    pub near: u64,
    /// The time for the cell.
    pub time: Duration,
}

/// The lengths at which the search gives up: the first one, and a later one only if nothing passed.
const LONGEST: [u64; 4] = [8_192, 32_768, 131_072, 524_288];
/// The shares of the time at which the search for t_min, its confirmation, and the search for t_diff end.
const SEARCHED: [f64; 3] = [0.5, 0.65, 0.85];
/// The additions of the last set if there is no t_min.
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

/// Confirm the figures of a cell that was searched, with sets as large as the time allows; None if that
/// leaves none.
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

/// The time when a cell was begun, and the machine's counts at that time.
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

/// Describe a cell with these answers.
fn described(
    asked: &Asked,
    criteria: &Criteria,
    mut bench: Bench,
    check: Check,
    begun: Begun,
    (t_min, t_diff): (Result<Confirmed, Unmeasurable>, Result<ConfirmedDifference, Unmeasurable>),
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

/// The confirmed answer, or the reason why there is none: t_min, and t_diff with how well such lengths can be
/// distinguished.
type Confirmed = (Found, Evidence);
/// See `Confirmed`.
type ConfirmedDifference = (Option<Separation>, Confirmed);

/// Search for both figures with short sets, and confirm each with large ones.
fn answers(
    asked: &Asked,
    criteria: &Criteria,
    bench: &mut Bench,
    begun_ns: i64,
) -> (Result<Confirmed, Unmeasurable>, Result<ConfirmedDifference, Unmeasurable>) {
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

/// Return criteria by which an answer of short sets may be raised to the longest length there is.
fn unlimited(criteria: &Criteria) -> Criteria {
    Criteria { longest: LONGEST[LONGEST.len() - 1], ..*criteria }
}

/// Measure the last set. As in the searches it is measured again while too much of it would have to be
/// removed.
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

/// Search for t_min, among short lengths first: long ones take more time.
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

/// Return a finite value, since JSON has no infinity.
fn finite(value: f64) -> f64 {
    if value.is_finite() {
        value
    } else {
        f64::MAX
    }
}

/// Return the shift of the median from the first half to the second, over the median.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_histogram_by_hand() {
        let set = Set { values: vec![10.0, 10.0, 10.0, 12.0, 12.0, 12.0], ..Set::default() };
        assert!((shift(&set) - 0.2).abs() < 1e-12);
        assert_eq!(histogram(&set), Histogram::from([(10_000, 3), (12_000, 3)]));
    }
}
