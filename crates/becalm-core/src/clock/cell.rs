//! One timer at one flush size: its cost, t_min and t_diff, and what they rest on.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::bench::Bench;
use super::caches::Flush;
use super::chain::Check;
use super::filter::Filter;
use super::meter::{Meter, Set};
use super::search::{difference, shortest, Criteria, Found, Unmeasurable};
use super::statistics::{median, variation};
use super::timer::measure::context_switches;
use super::timer::{Description, Unit};

/// Values and how often each was read: what a set of measurements is, since clocks have steps.
pub type Histogram = BTreeMap<i64, u32>;

/// A length that was found, as time of the work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Length {
    /// Additions.
    pub additions: u64,
    /// Nanoseconds: additions at the core's clock of this cell.
    pub ns: f64,
    /// The smallest and the largest of the repetitions, in ns.
    pub range_ns: (f64, f64),
}

impl Length {
    fn of(found: Found, check: &Check) -> Length {
        let ns = |length: u64| length as f64 * check.addition_ns;
        Length {
            additions: found.length,
            ns: ns(found.length),
            range_ns: (ns(found.range.0), ns(found.range.1)),
        }
    }
}

/// What is told of a cell. Costs, quantum and medians are in ns, or in cycles for a timer of cycles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The timer's name.
    pub timer: &'static str,
    /// What the timer is.
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
    /// The step is longer than t_diff, which therefore is known to be at most that.
    pub t_diff_below_quantum: bool,
    /// Probability that a measurement of the longer of two lengths that differ by t_diff is above one of the shorter.
    pub area: Option<f64>,
    /// Error of the best threshold between them.
    pub error: Option<f64>,
    /// Of a last set, at t_min: the coefficient of variation as measured and cleaned, the share that was taken out, and the
    /// shift of the median between its halves over the median.
    pub raw_variation: f64,
    /// See `raw_variation`.
    pub cleaned_variation: f64,
    /// See `raw_variation`.
    pub removed: f64,
    /// See `raw_variation`.
    pub shift: f64,
    /// Sets that were measured again, since too much of them would have had to be taken out.
    pub again: usize,
    /// What it measured: additions, and how often each value was read, in ns or cycles times 1000.
    pub reference_additions: u64,
    /// See `reference_additions`.
    pub reference: Histogram,
    /// Context switches of the thread during the cell, and steal of its processor in ns.
    pub context_switches: i64,
    /// See `context_switches`; None: the kernel does not tell.
    pub steal_ns: Option<u64>,
    /// Nanoseconds of an addition, and a multiplication over an addition, before the cell.
    pub check: Check,
    /// How long the cell took.
    pub elapsed_ns: u64,
}

/// What a cell is to be.
pub struct Asked<'a> {
    /// The timer.
    pub description: Description,
    /// The flush.
    pub flush: &'a Flush,
    /// What it takes.
    pub flush_time: Duration,
    /// How the operating system's share is told.
    pub filter: Filter,
    /// The published search, with its numbers; otherwise the grid, with numbers that fit the time.
    pub published: bool,
    /// Time.
    pub time: Duration,
}

/// Sets that a search with all its repetitions, or with as few as possible, looks at: counted on quiet machines.
const SETS: u32 = 1_200;
const FEWEST_SETS: u32 = 160;
/// Fewer measurements to a set say nothing of a share of 5 %.
const FEWEST: usize = 30;
/// Up to so many measurements to a set the search is the smallest.
const SMALL: usize = 1_000;
/// What a measurement takes beside the flush: reads, and additions of a usual length, twice.
const USUAL: Duration = Duration::from_nanos(1_200);
/// Where the search gives up: first here, and further up only where nothing passed.
const LONGEST: [u64; 3] = [8_192, 32_768, 131_072];
/// Additions of the last set where there is no t_min.
const REFERENCE: u64 = 1_024;

/// How much time cells of a flush get beside others.
pub fn weight(flush: Duration) -> f64 {
    1.0 + (flush.as_secs_f64() * 1e5).min(5.0)
}

/// The least time that a cell needs.
pub fn least(flush: Duration) -> Duration {
    (flush + USUAL) * FEWEST_SETS * FEWEST as u32
}

/// What fits the time.
pub fn criteria(asked: &Asked, each: Duration) -> Criteria {
    let base = Criteria { filter: asked.filter, longest: LONGEST[2], ..Criteria::default() };
    if asked.published {
        return base;
    }
    let fits = |sets: u32| {
        let many = asked.time.as_secs_f64() / f64::from(sets) / each.as_secs_f64();
        (many as usize).clamp(FEWEST, base.many)
    };
    let all = fits(SETS);
    if all > SMALL {
        return Criteria { many: all, fresh: 3, pairs: 12, repetitions: 3, ..base };
    }
    Criteria { many: fits(FEWEST_SETS).min(3 * SMALL), fresh: 1, pairs: 4, repetitions: 1, ..base }
}

/// Measure a cell.
pub fn measure(asked: &Asked, mut bench: Bench, check: Check, cpu: u32) -> Cell {
    let began = Instant::now();
    let (switches, steal) = (context_switches(), steal_ns(cpu));
    let criteria = criteria(asked, bench.each);
    let t_min = search(&mut bench, &criteria, asked.published);
    let t_diff = t_min.and_then(|found| match asked.published {
        true => difference::published(&mut bench, &criteria, found.length),
        false => difference::grid(&mut bench, &criteria, found.length),
    });
    let reference_additions = t_min.map_or(REFERENCE, |found| found.length);
    let reference = bench.sets(&[reference_additions], criteria.many).swap_remove(0);
    let quantum = bench.quantum();
    let cleaned = asked.filter.clean(&reference, quantum.map_or(0.0, |quantum| quantum.value));
    let reason = |found: Option<Unmeasurable>| found.map(|reason| reason.to_string());
    Cell {
        timer: asked.description.name,
        meaning: asked.description.meaning,
        unit: if asked.description.unit == Unit::Cycles { Unit::Cycles } else { Unit::Nanoseconds },
        flush: asked.flush.name,
        flush_bytes: asked.flush.bytes,
        many: criteria.many,
        repetitions: if asked.published { 1 } else { criteria.repetitions },
        fresh: criteria.fresh,
        pairs: criteria.pairs,
        smallest_cost: bench.cost(),
        median_cost: bench.median_cost(),
        quantum: quantum.map(|quantum| quantum.value),
        t_min: t_min.ok().map(|found| Length::of(found, &check)),
        no_t_min: reason(t_min.err()),
        t_diff: t_diff.ok().map(|found| Length::of(found.found, &check)),
        no_t_diff: if t_min.is_ok() { reason(t_diff.err()) } else { Some("there is no t_min".to_owned()) },
        t_diff_below_quantum: match (t_diff, quantum) {
            (Ok(found), Some(quantum)) => (found.found.length as f64) < quantum.length,
            _ => false,
        },
        area: t_diff.ok().map(|found| found.separation.area),
        error: t_diff.ok().map(|found| found.separation.error),
        raw_variation: finite(variation(&reference.values, bench.cost())),
        cleaned_variation: finite(variation(&cleaned.values, bench.cost())),
        removed: cleaned.removed,
        again: t_min.map_or(0, |found| found.again) + t_diff.map_or(0, |found| found.found.again),
        shift: shift(&reference),
        reference_additions,
        reference: histogram(&reference),
        context_switches: context_switches() - switches,
        steal_ns: steal.and_then(|before| steal_ns(cpu).map(|after| after.saturating_sub(before))),
        check,
        elapsed_ns: began.elapsed().as_nanos() as u64,
    }
}

/// t_min, looked for among short lengths first: long ones take their time.
fn search(bench: &mut Bench, criteria: &Criteria, published: bool) -> Result<Found, Unmeasurable> {
    if published {
        return shortest::published(bench, criteria);
    }
    let mut last = Err(Unmeasurable::TooNoisy);
    for longest in LONGEST {
        last = shortest::grid(bench, &Criteria { longest, ..*criteria });
        if !matches!(last, Err(Unmeasurable::TooNoisy)) {
            break;
        }
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

    fn asked(flush: &Flush, seconds: f64, published: bool) -> Asked<'_> {
        let description = Description { name: "barrier", unit: Unit::Ticks, meaning: "" };
        let time = Duration::from_secs_f64(seconds);
        Asked { description, flush, flush_time: Duration::ZERO, filter: Filter::Robust, published, time }
    }

    #[test]
    fn measurements_fit_the_time() {
        let flush = Flush { name: "L1", bytes: 0, reason: None };
        let quick = criteria(&asked(&flush, 0.5, false), Duration::from_nanos(1_500));
        assert!(quick.repetitions == 1 && (1_000..=3_000).contains(&quick.many), "{quick:?}");
        let long = criteria(&asked(&flush, 60.0, false), Duration::from_nanos(1_500));
        assert!(long.repetitions == 3 && long.many == 10_000, "{long:?}");
        let flushed = criteria(&asked(&flush, 5.0, false), Duration::from_millis(20));
        assert_eq!(flushed.many, FEWEST);
        let published = criteria(&asked(&flush, 0.5, true), Duration::from_nanos(1_500));
        assert_eq!((published.many, published.fresh, published.pairs), (10_000, 30, 80));
    }

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
