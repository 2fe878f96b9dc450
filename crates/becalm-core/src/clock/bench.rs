//! A real timer as a meter: chains of additions, flushes, and a time limit.

use std::time::Duration;

use super::caches::Buffer;
use super::meter::{Meter, Quantum, Set};
use super::random::Random;
use super::timer::measure::Measure;
use crate::time::{AnyClock, Clock};

/// The excess over the shortest measurement, ns, above which the cause is looked for: a context switch takes
/// longer than a microsecond.
const SLOW_NS: f64 = 1_500.0;
/// The number of empty regions for the cost.
const EMPTY: usize = 2_000;
/// The additions of a usual length.
const USUAL: u64 = 2_048;
/// The smallest number of empty regions under a flush, each of which takes milliseconds.
const FEWEST: usize = 20;

/// A timer with a flush, and the data for measuring it.
pub struct Bench<'a> {
    timer: &'a dyn Measure,
    /// The length of one of its units in ns (for cycles of the core 1: the result is in cycles).
    factor: f64,
    buffer: &'a mut Buffer,
    random: Random,
    /// The clock that measures the time spent.
    pub time: AnyClock,
    until_ns: i64,
    slow: i64,
    quantum: Option<Quantum>,
    /// The time of an addition, in ns or cycles.
    addition: f64,
    /// The costs of empty regions, in ns or cycles, sorted.
    costs: Vec<f64>,
    /// The whole time of one measurement of a short length, flush included.
    pub each: Duration,
}

impl<'a> Bench<'a> {
    /// Measure the timer's cost under this flush, and its step. `factor`: ns (or cycles) to one of its units;
    /// `addition`: ns (or cycles) to one addition; `step`: ticks by which the timer advances, if known.
    pub fn new(
        timer: &'a dyn Measure,
        factor: f64,
        addition: f64,
        step: Option<f64>,
        buffer: &'a mut Buffer,
        seed: u64,
        (clock, time): (&AnyClock, Duration),
    ) -> Bench<'a> {
        let begun_ns = clock.now_ns();
        let each = pace(timer, buffer, (clock, time));
        // The cost takes a tenth of the time at most.
        let many = (time.as_secs_f64() / 10.0 / each.as_secs_f64().max(1e-9)) as usize;
        let empty = timer.empty(many.clamp(FEWEST, EMPTY), buffer);
        let mut costs: Vec<f64> = empty.iter().map(|ticks| *ticks as f64 * factor).collect();
        costs.sort_unstable_by(f64::total_cmp);
        Bench {
            timer,
            factor,
            buffer,
            random: Random::new(seed),
            time: clock.clone(),
            until_ns: begun_ns + time.as_nanos() as i64,
            slow: (SLOW_NS / factor) as i64,
            quantum: step.map(|step| Quantum { value: step * factor, length: step * factor / addition }),
            addition,
            costs,
            each,
        }
    }

    /// End searches when `time` has passed since `begun_ns`.
    pub fn ends(&mut self, begun_ns: i64, time: Duration) {
        self.until_ns = begun_ns + time.as_nanos() as i64;
    }

    /// Return the median cost of an empty region.
    pub fn median_cost(&self) -> f64 {
        self.costs[self.costs.len() / 2]
    }
}

impl Meter for Bench<'_> {
    fn sets(&mut self, lengths: &[u64], many: usize) -> Vec<Set> {
        let mut order: Vec<usize> = (0..many * lengths.len()).map(|place| place % lengths.len()).collect();
        if lengths.len() > 1 {
            self.random.shuffle(&mut order);
        }
        let measured = self.timer.work(lengths, &order, self.buffer, self.slow);
        let set = |(values, disturbed): (Vec<i64>, Vec<usize>)| Set {
            values: values.iter().map(|ticks| *ticks as f64 * self.factor).collect(),
            cycles: None,
            disturbed,
        };
        measured.values.into_iter().zip(measured.disturbed).map(set).collect()
    }

    fn cost(&self) -> f64 {
        self.costs[0]
    }

    fn quantum(&self) -> Option<Quantum> {
        self.quantum
    }

    fn per_length(&self) -> f64 {
        self.addition
    }

    fn exhausted(&self) -> bool {
        self.time.now_ns() >= self.until_ns
    }
}

/// Return the whole time of a measurement of a usual length: flush, rehearsal, and whatever else the machine
/// does meanwhile, since others may use the processor, too. Takes a fiftieth of the time.
fn pace(timer: &dyn Measure, buffer: &mut Buffer, (clock, time): (&AnyClock, Duration)) -> Duration {
    let begun_ns = clock.now_ns();
    let mut many = 0;
    while many == 0 || clock.since(begun_ns) < time / 50 {
        timer.work(&[USUAL], &[0; FEWEST], buffer, i64::MAX);
        many += FEWEST as u32;
    }
    clock.since(begun_ns) / many
}

/// Return the step by which a timer advances, in its own unit, from regions of many lengths.
pub fn step(timer: &dyn Measure) -> Option<f64> {
    // The lengths are not multiples of anything, up to a few hundred nanoseconds, and no two in a row are
    // alike.
    let lengths: Vec<u64> = (0..97).map(|index| index * 13 + index % 7).collect();
    let order: Vec<usize> = (0..4_000).map(|turn| turn * 31 % lengths.len()).collect();
    let measured = timer.work(&lengths, &order, &mut Buffer::new(0), i64::MAX);
    let all = measured.values.iter().flatten();
    let mut differences: Vec<u64> = all.filter_map(|ticks| u64::try_from(*ticks).ok()).collect();
    // An interrupted measurement shows nothing about the step, and is the longest.
    differences.sort_unstable();
    differences.truncate(differences.len() * 95 / 100);
    becalm_clock::quantum(&mut differences)
}
