//! All cells of an evaluation within its budget: each is searched once, then those without an answer again,
//! then those with one repeatedly in turns, while there is time.
//!
//! The searches of a cell are spread over time between those of other timers, so that a burst of other load,
//! or a slower core for a while, affects one search and not the cell: its figures are the least of all its
//! searches, equally many for each timer. An answer stays, so a longer budget never leaves a cell without an
//! answer that a shorter one found.

mod check;
mod place;
#[cfg(test)]
mod tests;

use std::time::Duration;

use becalm_clock::Clock;

use super::bench::{self, Bench};
use super::caches::{Buffer, Flush};
use super::cell::{self, Cell};
use super::chain::Check;
use super::effort::{self, Depth};
use super::filter::Filter;
use super::request::{Event, Refused};
use super::suspended::{suspended, WAKING};
use super::timer::{measure::Measure, Description, Unit};
use crate::time::{AnyClock, Clock as _};

pub use check::checked;
use place::{near, Place, Written};

/// The phases, one after the other, and the share of the budget at which each ends: searching cells without
/// an answer, repeating the search of those with one, and confirming the least that was found. A cell that is
/// disturbed for all of its time in one phase gets time in others; the next phase gets the time that one
/// leaves.
const TURNS: [(Turn, f64); 5] = [
    (Turn::Search, 0.5),
    (Turn::Search, 0.6),
    (Turn::Repeat, 0.75),
    (Turn::Search, 0.8),
    (Turn::Confirm, 1.0),
];
/// The largest number of searches of a cell.
const SEARCHES: u32 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Search,
    Repeat,
    Confirm,
}

/// A timer that can be used.
pub type Ready = (Description, Box<dyn Measure>);

/// The part that all cells have in common.
pub struct Rounds<'a> {
    /// The timers, and the flushes with the time of one flush.
    pub timers: &'a [Ready],
    /// See `timers`.
    pub flushes: &'a [(Flush, Duration)],
    /// The clock that converts ticks to ns.
    pub clock: &'a Clock,
    /// The filter for the operating system's share.
    pub filter: Filter,
    /// Whether to use the published search.
    pub published: bool,
    /// The seed of the order of measurements.
    pub seed: u64,
    /// The processor.
    pub cpu: u32,
    /// The clock of the budget.
    pub time: AnyClock,
    /// The time when the evaluation began, ns of that clock, and its budget.
    pub begun_ns: i64,
    /// See `begun_ns`.
    pub budget: Duration,
    /// The function that checks the chain of additions before each search.
    pub check: fn() -> Result<Check, Refused>,
}

impl Rounds<'_> {
    /// Measure these cells, in this order, and report each.
    pub fn measure(
        &self,
        cells: Vec<(usize, usize)>,
        send: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Refused> {
        let mut places: Vec<Place> = cells
            .into_iter()
            .map(|(flush, timer)| Place { flush, timer, known: None, takes: Duration::ZERO })
            .collect();
        if self.published {
            return self.search(self.budget, &mut places, send);
        }
        for (turn, share) in TURNS {
            let ends = self.budget.mul_f64(share);
            match turn {
                Turn::Search => self.search(ends, &mut places, send)?,
                Turn::Repeat => self.repeat(ends, &mut places, send)?,
                Turn::Confirm => self.confirm(ends, &mut places, send)?,
            }
        }
        Ok(())
    }

    /// Search cells without an answer, each with its share of the time until `ends`.
    fn search(
        &self,
        ends: Duration,
        places: &mut [Place],
        send: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Refused> {
        let again = places.iter().any(|place| place.known.is_some());
        let mut cells: Vec<usize> = (0..places.len()).filter(|at| !places[*at].answered()).collect();
        if again {
            self.fitting(&mut cells, self.left(ends), places);
        }
        if again && !cells.is_empty() {
            send(&Event::Again { cells: cells.len() })?;
        }
        let mut written = Written::default();
        for (index, at) in cells.iter().copied().enumerate() {
            // The time left is shared among the remaining cells, by weight, so that a quick one leaves time
            // to the others.
            let time = self.left(ends).mul_f64(self.share(at, &cells[index..], places));
            // Every cell is tried once, whatever time the others took.
            if time < effort::least(self.flush(places[at].flush)) && places[at].known.is_some() {
                continue;
            }
            let near = near(places, at);
            let place = &mut places[at];
            let buffer = written.of(place.flush, self.flushes);
            let (timer, flush) = (self.timers[place.timer].0.name, self.flushes[place.flush].0.name);
            match self.attempts(place, near, time, buffer) {
                Ok(found) => send(&Event::Cell(Box::new(found)))?,
                Err(reason) => {
                    let reason = reason.to_string();
                    send(&Event::Absent { timer: Some(timer), flush: Some(flush), reason })?;
                }
            }
        }
        Ok(())
    }

    /// Confirm cells with an answer, each with its share of the time: the least of many searches must hold on
    /// one large fresh set.
    fn confirm(
        &self,
        ends: Duration,
        places: &mut [Place],
        send: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Refused> {
        let cells: Vec<usize> = (0..places.len()).filter(|at| places[*at].answered()).collect();
        let mut written = Written::default();
        for (index, at) in cells.iter().copied().enumerate() {
            let time = self.left(ends).mul_f64(self.share(at, &cells[index..], places));
            let place = &mut places[at];
            let Some(known) = place.known.take() else { continue };
            let buffer = written.of(place.flush, self.flushes);
            // A result from a suspended machine does not count against what smaller sets have confirmed
            // before.
            let last = self.cell(place, (Depth::Usual, 0), time, buffer, |asked, bench, check| {
                cell::confirmed(asked, bench, check, self.cpu, &known)
            });
            let known = match last {
                Ok(Some(last)) => known.confirmed_by(last),
                Ok(None) | Err(_) => known,
            };
            send(&Event::Cell(Box::new(known.clone())))?;
            place.known = Some(known);
        }
        Ok(())
    }

    /// Search rows of cells with an answer again, in turns.
    fn repeat(
        &self,
        ends: Duration,
        places: &mut [Place],
        send: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Refused> {
        let rows = self.flushes.len() as u32;
        let mut written = Written::default();
        for row in rows..SEARCHES * rows {
            let left = self.left(ends);
            let flush = (row % rows) as usize;
            self.repeat_row(flush, left, left / (SEARCHES * rows - row), places, &mut written, send)?;
        }
        Ok(())
    }

    /// Search each cell of a flush that has an answer once more, so that all of its timers are searched
    /// equally often: if the time left is not enough for all of them, none is. `share` is the time that the
    /// row may take, if it needs no more.
    fn repeat_row(
        &self,
        flush: usize,
        left: Duration,
        share: Duration,
        places: &mut [Place],
        written: &mut Written,
        send: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Refused> {
        let is = |at: &usize| places[*at].flush == flush && places[*at].answered();
        let cells: Vec<usize> = (0..places.len()).filter(is).collect();
        if cells.iter().map(|at| places[*at].takes).sum::<Duration>() > left {
            return Ok(());
        }
        for at in cells.iter().copied() {
            let time = places[at].takes.max(share / cells.len() as u32);
            let near = near(places, at);
            let buffer = written.of(flush, self.flushes);
            // A suspended machine or a failed check of the chain in one search does not count against the
            // others.
            if let Ok(known) = self.once(&mut places[at], Depth::Usual, near, time, buffer) {
                send(&Event::Cell(Box::new(known)))?;
            }
        }
        Ok(())
    }

    /// Search a cell until it has its answers or its time is up: other load may spoil one search and not
    /// another. Each search takes half of the time left.
    fn attempts(
        &self,
        place: &mut Place,
        near: u64,
        time: Duration,
        buffer: &mut Buffer,
    ) -> Result<Cell, Refused> {
        let begun_ns = self.time.now_ns();
        let least = effort::least(self.flush(place.flush));
        let mut depth = Depth::Usual;
        loop {
            let left = time.saturating_sub(self.time.since(begun_ns));
            let all = self.published || left < 2 * least;
            let best = self.once(place, depth, near, if all { left } else { left / 2 }, buffer)?;
            if all || best.answered() {
                return Ok(best);
            }
            depth = Depth::Short;
        }
    }

    /// Search a cell once more; return what is known of it then.
    fn once(
        &self,
        place: &mut Place,
        depth: Depth,
        near: u64,
        time: Duration,
        buffer: &mut Buffer,
    ) -> Result<Cell, Refused> {
        let begun_ns = self.time.now_ns();
        let measure = |asked: &cell::Asked, bench: Bench, check| cell::measure(asked, bench, check, self.cpu);
        let found = self.cell(place, (depth, near), time, buffer, measure)?;
        place.takes = self.time.since(begun_ns);
        let best = match place.known.take() {
            Some(before) => before.with(found),
            None => found,
        };
        place.known = Some(best.clone());
        Ok(best)
    }

    /// Leave only as many cells as the time allows, those that need least of it.
    fn fitting(&self, cells: &mut Vec<usize>, time: Duration, places: &[Place]) {
        let least = |at: &usize| effort::least(self.flush(places[*at].flush));
        let mut cheap = cells.clone();
        cheap.sort_by_key(least);
        let mut needed = Duration::ZERO;
        cheap.retain(|at| {
            needed += least(at);
            needed <= time
        });
        cells.retain(|at| cheap.contains(at));
    }

    /// Return a cell's share among others.
    fn share(&self, at: usize, among: &[usize], places: &[Place]) -> f64 {
        let weight = |at: usize| effort::weight(self.flush(places[at].flush));
        weight(at) / among.iter().map(|at| weight(*at)).sum::<f64>()
    }

    /// Return the time of a flush.
    fn flush(&self, flush: usize) -> Duration {
        self.flushes[flush].1
    }

    fn left(&self, ends: Duration) -> Duration {
        ends.saturating_sub(self.time.since(self.begun_ns))
    }

    /// Return the result of measuring a cell. Refused if the machine was suspended meanwhile.
    fn cell<T>(
        &self,
        place: &Place,
        (depth, near): (Depth, u64),
        time: Duration,
        buffer: &mut Buffer,
        measure: impl FnOnce(&cell::Asked, Bench, Check) -> T,
    ) -> Result<T, Refused> {
        let (description, timer) = &self.timers[place.timer];
        let check = (self.check)()?;
        let addition = if description.unit == Unit::Cycles { 1.0 } else { check.addition_ns };
        let step = bench::step(timer.as_ref());
        let tries = place.known.as_ref().map_or(0, |known| u64::from(known.tries));
        let seed =
            self.seed.wrapping_add(tries * 1_000 + (place.flush * self.timers.len() + place.timer) as u64);
        let factor = factor(*description, self.clock);
        let bench = Bench::new(timer.as_ref(), factor, addition, step, buffer, seed, (&self.time, time));
        let slept = suspended();
        let asked = cell::Asked {
            description: *description,
            flush: &self.flushes[place.flush].0,
            filter: self.filter,
            published: self.published,
            depth,
            near,
            time,
        };
        let found = measure(&asked, bench, check);
        match suspended().saturating_sub(slept) {
            slept if slept > WAKING => Err(Refused::Suspended { seconds: slept.as_secs_f64() }),
            _ => Ok(found),
        }
    }
}

/// Return the length of one unit of a timer in ns, or 1 for cycles.
fn factor(description: Description, clock: &Clock) -> f64 {
    match description.unit {
        Unit::Ticks => 1e9 / clock.info().calibration.hz,
        Unit::Own { hz } => 1e9 / hz as f64,
        Unit::Nanoseconds | Unit::Cycles => 1.0,
    }
}
