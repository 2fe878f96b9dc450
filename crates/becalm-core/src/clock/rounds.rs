//! All cells of an evaluation within its budget: each once, then those without an answer again while there is time.

use std::time::{Duration, Instant};

use becalm_clock::{portable, Clock};

use super::bench::{self, Bench};
use super::caches::{Buffer, Flush};
use super::cell::{self, Cell};
use super::chain::{self, Check};
use super::effort;
use super::filter::Filter;
use super::request::{Event, Refused};
use super::timer::measure::Measure;
use super::timer::{Description, Unit};

/// Rounds of the self-check, how often it is tried, and the rest before it is tried again: other load on the machine, most of
/// all on the other thread of the same core, may spoil several in a row.
const CHECKS: usize = 101;
const TRIES: usize = 20;
const REST: Duration = Duration::from_millis(50);
/// The share of the budget that the first round may take: a cell that is disturbed for all of its time gets another.
const FIRST_SHARE: f64 = 0.75;
/// Rounds, the first among them. Each halves what the one before it left, at most.
const ROUNDS: usize = 4;

/// A timer that can be used.
pub type Ready = (Description, Box<dyn Measure>);

/// What all cells have in common.
pub struct Rounds<'a> {
    /// The timers, and the flushes with what one of them takes.
    pub timers: &'a [Ready],
    /// See `timers`.
    pub flushes: &'a [(Flush, Duration)],
    /// The clock by which ticks become ns.
    pub clock: &'a Clock,
    /// How the operating system's share is told.
    pub filter: Filter,
    /// The published search.
    pub published: bool,
    /// Of the order of measurements.
    pub seed: u64,
    /// The processor.
    pub cpu: u32,
    /// When the evaluation began, and what it may take.
    pub began: Instant,
    /// See `began`.
    pub budget: Duration,
}

/// A cell that is to be measured: places in the lists of flushes and of timers, what is known of it, and a length at which
/// it is expected to pass.
struct Place {
    flush: usize,
    timer: usize,
    known: Option<Cell>,
}

impl Rounds<'_> {
    /// Measure those, in this order, and tell of each.
    pub fn measure(
        &self,
        cells: Vec<(usize, usize)>,
        tell: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Refused> {
        let mut waiting: Vec<Place> =
            cells.into_iter().map(|(flush, timer)| Place { flush, timer, known: None }).collect();
        // Where each timer's search ended at the flush before: the next begins there.
        let mut near = vec![0; self.timers.len()];
        for round in 0..ROUNDS {
            let ends =
                if round == 0 && !self.published { self.budget.mul_f64(FIRST_SHARE) } else { self.budget };
            let needed: Duration =
                waiting.iter().map(|place| effort::least(self.flushes[place.flush].1)).sum();
            if waiting.is_empty() || (round > 0 && self.began.elapsed() + needed > ends) {
                break;
            }
            if round > 0 {
                tell(&Event::Again { cells: waiting.len() })?;
            }
            self.round(round, ends, &mut waiting, &mut near, tell)?;
            waiting.retain(|place| !place.known.as_ref().is_some_and(Cell::answered));
            if self.published {
                break;
            }
        }
        Ok(())
    }

    fn round(
        &self,
        round: usize,
        ends: Duration,
        waiting: &mut [Place],
        near: &mut [u64],
        tell: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Refused> {
        let mut buffer = (usize::MAX, Buffer::new(0));
        for place in 0..waiting.len() {
            // What is left is shared among the cells to come, by weight, so that one that was quick lends to the others.
            let weight = |place: &Place| effort::weight(self.flushes[place.flush].1);
            let rest: f64 = waiting[place..].iter().map(weight).sum();
            let left = ends.saturating_sub(self.began.elapsed());
            let time = left.mul_f64(weight(&waiting[place]) / rest);
            let at = &mut waiting[place];
            if buffer.0 != at.flush {
                buffer = (at.flush, self.flushes[at.flush].0.buffer());
            }
            let seed = self.seed.wrapping_add((round * 1_000 + place) as u64);
            let found = match self.cell(at, near[at.timer], time, seed, &mut buffer.1) {
                Ok(found) => found,
                Err(reason) => {
                    let (timer, flush) = (self.timers[at.timer].0.name, self.flushes[at.flush].0.name);
                    tell(&Event::Absent {
                        timer: Some(timer),
                        flush: Some(flush),
                        reason: reason.to_string(),
                    })?;
                    continue;
                }
            };
            let found = match at.known.take() {
                Some(before) => before.better(found),
                None => found,
            };
            near[at.timer] = found.t_min.map_or(near[at.timer], |found| found.additions);
            tell(&Event::Cell(Box::new(found.clone())))?;
            at.known = Some(found);
        }
        Ok(())
    }

    fn cell(
        &self,
        place: &Place,
        near: u64,
        time: Duration,
        seed: u64,
        buffer: &mut Buffer,
    ) -> Result<Cell, Refused> {
        let (description, timer) = &self.timers[place.timer];
        let check = checked()?;
        let addition = if description.unit == Unit::Cycles { 1.0 } else { check.addition_ns };
        let step = bench::step(timer.as_ref());
        let factor = factor(*description, self.clock);
        let bench = Bench::new(timer.as_ref(), factor, addition, step, buffer, seed, time);
        let slept = suspended();
        let asked = cell::Asked {
            description: *description,
            flush: &self.flushes[place.flush].0,
            filter: self.filter,
            published: self.published,
            near,
            time,
        };
        let found = cell::measure(&asked, bench, check, self.cpu);
        match suspended().saturating_sub(slept) {
            slept if slept > WAKING => Err(Refused::Suspended { seconds: slept.as_secs_f64() }),
            _ => Ok(found),
        }
    }
}

/// How long the machine was suspended since it was started: what CLOCK_BOOTTIME counts and CLOCK_MONOTONIC does not.
fn suspended() -> Duration {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call fills the structure that it is given.
        unsafe { libc::clock_gettime(clock, &mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    // In this order: what passes between the two reads does not count as sleep.
    let boot = read(libc::CLOCK_BOOTTIME);
    boot.saturating_sub(read(libc::CLOCK_MONOTONIC))
}

/// Two reads are apart by this much at most, whatever comes between.
const WAKING: Duration = Duration::from_millis(500);

/// The chain of additions, if it is one.
pub fn checked() -> Result<Check, Refused> {
    let mut ratio = 0.0;
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(REST);
        }
        let check = chain::check(portable::now_ns, CHECKS);
        if check.passed() {
            return Ok(check);
        }
        ratio = check.ratio;
    }
    Err(Refused::Chain { ratio })
}

/// What one unit of a timer is in ns, or 1 for cycles.
fn factor(description: Description, clock: &Clock) -> f64 {
    match description.unit {
        Unit::Ticks => 1e9 / clock.info().calibration.hz,
        Unit::Nanoseconds | Unit::Cycles => 1.0,
    }
}
