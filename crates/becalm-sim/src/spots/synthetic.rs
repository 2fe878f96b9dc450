//! Synthetic streams of records with a known truth: changes of the working set and evictions are drawn, not
//! measured.
//!
//! Two CPUs share a cache. On CPU 0 the program `PROGRAM` runs in phases, each with its own ratio; a phase
//! begins with a refill, which is the truth of type 1. At times it waits while another task runs: either a
//! spinner, which misses only in the few references of small programs, or a task that evicts it, which is the
//! truth of type 2. After an eviction the program refills, which is not a new phase. On CPU 1 a task with few
//! misses runs all the time. `noise` makes ratios and rates drift, and adds short bursts of misses that are
//! not changes.

use serde::{Deserialize, Serialize};

use super::record::{Record, Task, What, IDLE};
use crate::random::Random;

pub const PROGRAM: Task = 100;
pub const SPINNER: Task = 200;
pub const EVICTOR: Task = 201;
pub const NEIGHBOUR: Task = 300;

/// A stream. Times in ms are means of exponential distributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Synthetic {
    pub seed: u64,
    pub seconds: f64,
    /// The time between two records of a CPU without switches, ns.
    pub tick_ns: u64,
    pub references_per_ms: f64,
    /// The length of a phase, of running time; its ratio is drawn from 0.002 to 0.08.
    pub phase_ms: f64,
    /// The share of phases that always miss, with ratios from 0.15 to 0.4.
    pub missing_share: f64,
    /// The number of misses of a refill.
    pub refill_lines: f64,
    /// The share of misses in the references during a refill.
    pub refill_ratio: f64,
    /// The running time between two waits.
    pub run_ms: f64,
    /// The length of a wait.
    pub wait_ms: f64,
    /// The share of waits in which the program is evicted.
    pub evict_share: f64,
    /// The standard deviation of the logarithms of ratio and rate, which also scales bursts.
    pub noise: f64,
    /// The number of bursts per second.
    pub bursts: f64,
    /// The number of misses of a burst at a noise of 1.
    pub burst_lines: f64,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self {
            seed: 0,
            seconds: 10.0,
            tick_ns: 1_000_000,
            references_per_ms: 4_000.0,
            phase_ms: 400.0,
            missing_share: 0.0,
            refill_lines: 16_000.0,
            refill_ratio: 0.6,
            run_ms: 150.0,
            wait_ms: 20.0,
            evict_share: 0.3,
            noise: 0.25,
            bursts: 2.0,
            burst_lines: 1_500.0,
        }
    }
}

/// The truth: a phase begins with a refill of this span (`kind` 1), or the program is evicted in this span
/// (`kind` 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Truth {
    pub kind: u8,
    pub from_ns: u64,
    pub until_ns: u64,
}

/// The largest number of records, more than those of a day.
const MOST_RECORDS: f64 = 1e8;

impl Synthetic {
    /// Check the parameters.
    ///
    /// # Errors
    /// Returns a sentence about the first invalid one.
    pub fn check(&self) -> Result<(), String> {
        let positive = [
            ("seconds", self.seconds),
            ("references_per_ms", self.references_per_ms),
            ("phase_ms", self.phase_ms),
            ("run_ms", self.run_ms),
            ("wait_ms", self.wait_ms),
        ];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{name} of a synthetic stream is a number above 0, not {value}."));
            }
        }
        let shares = [
            ("missing_share", self.missing_share),
            ("refill_ratio", self.refill_ratio),
            ("evict_share", self.evict_share),
        ];
        for (name, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name} of a synthetic stream is from 0 to 1, not {value}."));
            }
        }
        for (name, value) in [
            ("refill_lines", self.refill_lines),
            ("noise", self.noise),
            ("bursts", self.bursts),
            ("burst_lines", self.burst_lines),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(format!(
                    "{name} of a synthetic stream is a number that is not negative, not {value}."
                ));
            }
        }
        if self.tick_ns < 1_000 || self.seconds * 1e9 / self.tick_ns as f64 * 2.0 > MOST_RECORDS {
            return Err(format!(
                "That are more than {MOST_RECORDS:.0e} records. Make seconds fewer or tick_ns longer."
            ));
        }
        Ok(())
    }

    /// Return the records in order of time, and the truth.
    pub fn stream(&self) -> (Vec<Record>, Vec<Truth>) {
        let mut made = Made::new(self);
        while made.now_ns < made.end_ns {
            made.step();
        }
        made.close();
        (made.records, made.truth)
    }
}

/// The state of the generation of a stream.
struct Made<'a> {
    of: &'a Synthetic,
    random: Random,
    records: Vec<Record>,
    truth: Vec<Truth>,
    now_ns: u64,
    end_ns: u64,
    counters: [(u64, u64); 2],
    ratio: f64,
    /// The slow deviations of rate and ratio, as logarithms.
    drift: [f64; 2],
    refill: f64,
    /// The index of the truth whose refill is in progress.
    refilling: Option<usize>,
    phase_left_ns: f64,
    run_left_ns: f64,
    wait_left_ns: f64,
    /// The task that runs on CPU 0.
    runs: Task,
    evicting: Option<usize>,
}

/// The time constant of the drift of ratios and rates, ns.
const DRIFT_NS: f64 = 20e6;

impl<'a> Made<'a> {
    fn new(of: &'a Synthetic) -> Self {
        let mut made = Self {
            of,
            random: Random::new(of.seed),
            records: Vec::new(),
            truth: Vec::new(),
            now_ns: 0,
            end_ns: (of.seconds * 1e9) as u64,
            counters: [(0, 0); 2],
            ratio: 0.0,
            drift: [0.0; 2],
            refill: of.refill_lines,
            refilling: None,
            phase_left_ns: 0.0,
            run_left_ns: 0.0,
            wait_left_ns: 0.0,
            runs: PROGRAM,
            evicting: None,
        };
        made.ratio = made.draw_ratio();
        made.phase_left_ns = made.long(of.phase_ms);
        made.run_left_ns = made.long(of.run_ms);
        made.switch(0, IDLE, PROGRAM, false);
        made.switch(1, IDLE, NEIGHBOUR, false);
        made
    }

    /// Draw an exponential time with a mean in ms, and return it in ns.
    fn long(&mut self, mean_ms: f64) -> f64 {
        (-self.random.share().ln() * mean_ms * 1e6).max(1_000.0)
    }

    /// Draw the ratio of a phase, log-uniform.
    fn draw_ratio(&mut self) -> f64 {
        let always = self.random.share() <= self.of.missing_share;
        let (low, high): (f64, f64) = if always { (0.15, 0.4) } else { (0.002, 0.08) };
        (low.ln() + (high / low).ln() * self.random.share()).exp()
    }

    fn switch(&mut self, cpu: u32, out: Task, to: Task, preempted: bool) {
        let counts = self.counters[cpu as usize];
        self.records.push(Record::switch(self.now_ns, cpu, (out, to), preempted, counts));
    }

    /// Advance to the next event or tick.
    fn step(&mut self) {
        let left =
            if self.runs == PROGRAM { self.phase_left_ns.min(self.run_left_ns) } else { self.wait_left_ns };
        let length = (self.of.tick_ns as f64).min(left.max(1.0)).min((self.end_ns - self.now_ns) as f64);
        let length_ns = (length as u64).max(1);
        self.wander(length_ns as f64);
        self.count(length_ns as f64);
        self.now_ns += length_ns;
        let neighbour = self.counters[1];
        self.records.push(Record::new(self.now_ns, 1, What::Tick, neighbour));
        if self.runs == PROGRAM {
            self.ran(length_ns as f64);
        } else {
            self.waited(length_ns as f64);
        }
    }

    fn ran(&mut self, length: f64) {
        self.phase_left_ns -= length;
        self.run_left_ns -= length;
        if self.refill <= 0.0 {
            if let Some(number) = self.refilling.take() {
                self.truth[number].until_ns = self.now_ns;
            }
        }
        if self.phase_left_ns <= 0.0 {
            self.phase_left_ns = self.long(self.of.phase_ms);
            self.ratio = self.draw_ratio();
            self.refill = self.of.refill_lines;
            self.end_refill();
            self.refilling = Some(self.truth.len());
            self.truth.push(Truth { kind: 1, from_ns: self.now_ns, until_ns: self.now_ns });
        }
        if self.run_left_ns <= 0.0 {
            let evicts = self.random.share() <= self.of.evict_share;
            self.wait_left_ns = self.long(self.of.wait_ms);
            self.runs = if evicts { EVICTOR } else { SPINNER };
            self.switch(0, PROGRAM, self.runs, true);
            if evicts {
                self.evicting = Some(self.truth.len());
                self.truth.push(Truth { kind: 2, from_ns: self.now_ns, until_ns: self.now_ns });
            }
            return;
        }
        let counts = self.counters[0];
        self.records.push(Record::new(self.now_ns, 0, What::Tick, counts));
    }

    fn end_refill(&mut self) {
        if let Some(number) = self.refilling.take() {
            self.truth[number].until_ns = self.now_ns;
        }
    }

    fn waited(&mut self, length: f64) {
        self.wait_left_ns -= length;
        if let Some(number) = self.evicting {
            self.truth[number].until_ns = self.now_ns;
        }
        if self.wait_left_ns > 0.0 {
            let counts = self.counters[0];
            self.records.push(Record::new(self.now_ns, 0, What::Tick, counts));
            return;
        }
        if let Some(number) = self.evicting.take() {
            // The evicted part grows with the time of the eviction; after 20 ms it is everything.
            let length = (self.now_ns - self.truth[number].from_ns) as f64;
            self.refill = self.refill.max(self.of.refill_lines * (length / 20e6).min(1.0));
        }
        self.switch(0, self.runs, PROGRAM, true);
        self.runs = PROGRAM;
        self.run_left_ns = self.long(self.of.run_ms);
    }

    /// Let ratio and rate drift, with a tendency back to their means.
    fn wander(&mut self, length: f64) {
        let keep = (-length / DRIFT_NS).exp();
        for at in 0..2 {
            let pushed = self.of.noise * (1.0 - keep * keep).sqrt() * self.random.normal();
            self.drift[at] = keep * self.drift[at] + pushed;
        }
    }

    fn count(&mut self, length: f64) {
        let ms = length / 1e6;
        let rate = self.of.references_per_ms * self.drift[0].exp();
        let (references, misses) = match self.runs {
            PROGRAM => self.program(rate * ms, ms),
            EVICTOR => self.draw(2_000.0 * ms, 0.7),
            // Small programs run in between: few references, most of them misses.
            _ => self.draw(2.0 * ms, 0.5),
        };
        self.add(0, references, misses);
        let (references, misses) = self.draw(1_000.0 * ms, 0.005);
        self.add(1, references, misses);
    }

    fn program(&mut self, expected: f64, ms: f64) -> (u64, u64) {
        let ratio = (self.ratio * self.drift[1].exp()).min(1.0);
        let references = self.poisson(expected);
        let filling = (self.of.refill_ratio * references as f64).min(self.refill.max(0.0));
        self.refill -= filling;
        let rest = if self.of.refill_ratio > 0.0 {
            references as f64 - filling / self.of.refill_ratio
        } else {
            references as f64
        };
        let usual = self.poisson(rest.max(0.0) * ratio);
        let mut misses = filling as u64 + usual;
        if self.random.share() <= self.of.bursts * ms / 1e3 {
            misses += (-self.random.share().ln() * self.of.burst_lines * self.of.noise) as u64;
        }
        (references, misses.min(references))
    }

    fn draw(&mut self, expected: f64, ratio: f64) -> (u64, u64) {
        let references = self.poisson(expected);
        (references, self.poisson(references as f64 * ratio).min(references))
    }

    fn add(&mut self, cpu: usize, references: u64, misses: u64) {
        self.counters[cpu].0 += references;
        self.counters[cpu].1 += misses;
    }

    /// Draw a Poisson number: exactly by products of uniform numbers, and above a mean of 30 by the normal
    /// approximation.
    fn poisson(&mut self, mean: f64) -> u64 {
        if mean > 30.0 {
            return (mean + mean.sqrt() * self.random.normal()).round().max(0.0) as u64;
        }
        let (limit, mut product, mut count) = ((-mean.max(0.0)).exp(), self.random.share(), 0);
        while product > limit {
            product *= self.random.share();
            count += 1;
        }
        count
    }

    fn close(&mut self) {
        self.end_refill();
        self.switch(0, self.runs, IDLE, false);
        self.switch(1, NEIGHBOUR, IDLE, false);
        let counts = self.counters[0];
        self.records.push(Record::new(self.now_ns, 0, What::Exit { task: PROGRAM }, counts));
    }
}
