//! The cost of a migration: misses above those of the same phase before it, and references above those
//! before, which are the cost of cold private caches if both CPUs share the last-level one.
//!
//! A program that moves to another last-level cache misses more at once, which every rule detects as a sweet
//! spot of type 1. Such a spot in the window of the move or the next one is attributed to the refill and not
//! to a change of the program: it ends neither the accounting of the refill nor the preceding phase, and
//! windows of a refill are excluded from the baseline of the next move.

use std::collections::HashSet;

use serde::Serialize;

use super::judge::Spot;
use super::window::{Counts, Window};

/// A move of a program to another CPU, whatever caused it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Migration {
    pub program: usize,
    pub time_ns: u64,
    pub from: u32,
    pub to: u32,
    /// Misses above those that as many references had before; None if too little is known before or after.
    pub excess_misses: Option<f64>,
    /// The standard error of `excess_misses` by counting noise.
    pub error: Option<f64>,
    /// The time at which the excess has vanished.
    pub until_ns: Option<u64>,
    /// References above those of as much time before; valid for a program that runs all the time.
    pub excess_references: Option<f64>,
    /// The standard error of `excess_references` by the spread of the windows before.
    pub references_error: Option<f64>,
}

/// The number of windows before a move that form its baseline.
const BEFORE: usize = 20;
/// The largest number of windows after a move over which the excess is summed.
const AFTER: usize = 40;

/// The smallest number of windows for a baseline.
const LEAST: usize = 3;

/// The number of standard errors within which a window ends the excess.
const SIGMAS: f64 = 2.0;

impl Migration {
    pub fn new(program: usize, time_ns: u64, from: u32, to: u32) -> Self {
        Self {
            program,
            time_ns,
            from,
            to,
            excess_misses: None,
            error: None,
            until_ns: None,
            excess_references: None,
            references_error: None,
        }
    }
}

/// The history of one program: its windows, changes of its working set, and refills of caches.
#[derive(Debug, Default)]
struct Past<'a> {
    windows: &'a [Window],
    changes: Vec<u64>,
    /// The begin and end of each refill, in order of begin; an end is the latest one so far.
    refills: Vec<(u64, u64)>,
    /// The members of `changes` that are refills.
    own: HashSet<u64>,
}

/// Estimate the costs of migrations (program, time, from, to), given in order of time, from the windows of
/// each program and all sweet spots.
pub fn costs(moves: &[(usize, u64, u32, u32)], windows: &[Vec<Window>], spots: &[Spot]) -> Vec<Migration> {
    let mut pasts: Vec<Past> = windows.iter().map(|each| Past { windows: each, ..Past::default() }).collect();
    for spot in spots.iter().filter(|each| each.kind == 1) {
        if let Some(past) = pasts.get_mut(spot.program) {
            past.changes.push(spot.time_ns);
        }
    }
    pasts.iter_mut().for_each(|each| each.changes.sort_unstable());
    let priced = moves.iter().map(|&(program, time_ns, from, to)| {
        pasts[program].migrated(Migration::new(program, time_ns, from, to))
    });
    priced.collect()
}

impl Past<'_> {
    /// Estimate the cost of the next migration, and add it to the history.
    fn migrated(&mut self, moved: Migration) -> Migration {
        let first = self.windows.partition_point(|each| each.end_ns <= moved.time_ns);
        let own = self.own(moved.time_ns, first);
        let found = self.cost(moved, first, own.unwrap_or(moved.time_ns));
        let end = match (found.until_ns, own) {
            (Some(until_ns), _) => until_ns,
            // The refill was detected, but not how long it lasted.
            (None, Some(_)) => self.windows.get(first + AFTER).map_or(u64::MAX, |each| each.start_ns),
            (None, None) => moved.time_ns,
        };
        let before = self.refills.last().map_or(0, |each| each.1);
        self.refills.push((moved.time_ns, end.max(before)));
        self.own.extend(own);
        found
    }

    /// Return the sweet spot that is the refill of a move: the first one, if it lies in the window of the
    /// move or the next one.
    fn own(&self, moved_ns: u64, first: usize) -> Option<u64> {
        let last = self.windows.get(first..)?.iter().take(2).next_back()?.end_ns;
        let next = self.changes.partition_point(|&at| at <= moved_ns);
        self.changes.get(next).copied().filter(|&at| at <= last)
    }

    /// Return whether a window is part of a refill.
    fn refilled(&self, window: &Window) -> bool {
        let begun = self.refills.partition_point(|each| each.0 < window.end_ns);
        begun > 0 && window.start_ns < self.refills[begun - 1].1
    }

    /// Estimate the cost of a migration; sweet spots up to `seen_ns` belong to its refill.
    fn cost(&self, moved: Migration, first: usize, seen_ns: u64) -> Migration {
        let (earlier, later) = self.changes.split_at(self.changes.partition_point(|&at| at <= moved.time_ns));
        let begun = earlier.iter().rfind(|at| !self.own.contains(at)).copied().unwrap_or(0);
        let over = later.iter().find(|&&at| at > seen_ns).copied().unwrap_or(u64::MAX);
        cost(self, moved, first, (begun, over))
    }
}

fn cost(past: &Past, moved: Migration, first: usize, (begun, over): (u64, u64)) -> Migration {
    let windows = past.windows;
    let before: Vec<&Window> = windows[..first]
        .iter()
        .rev()
        .take_while(|each| each.start_ns >= begun)
        .filter(|each| each.known && each.own.references > 0 && !past.refilled(each))
        .take(BEFORE)
        .collect();
    if before.len() < LEAST {
        return moved;
    }
    let more = references(&before, &windows[first..], over);
    let (excess_references, references_error) = (more.map(|each| each.0), more.map(|each| each.1));
    let moved = Migration { excess_references, references_error, ..moved };
    let usual = before.iter().fold(Counts::default(), |sum, each| sum + each.own);
    let rate = usual.ratio();
    let (mut excess, mut references) = (0.0, 0.0);
    for window in windows[first..].iter().filter(|each| each.own.references > 0).take(AFTER) {
        if !window.known || window.start_ns >= over {
            return moved;
        }
        let own = window.own;
        let above = own.misses as f64 - rate * own.references as f64;
        let chance = (own.references as f64 * rate * (1.0 - rate).max(0.0)).sqrt();
        excess += above;
        references += own.references as f64;
        if above <= SIGMAS * chance.max(1.0) {
            let of_rate = rate * (1.0 - rate).max(0.0) / usual.references as f64;
            let error = (references * rate * (1.0 - rate).max(0.0) + references.powi(2) * of_rate).sqrt();
            let until_ns = Some(window.end_ns);
            return Migration { excess_misses: Some(excess), error: Some(error), until_ns, ..moved };
        }
    }
    moved
}

/// Return the references above those of as much time before, and their standard error. The sum ends with the
/// first window within the spread of the windows before.
fn references(before: &[&Window], after: &[Window], over: u64) -> Option<(f64, f64)> {
    let length = |window: &Window| window.end_ns.saturating_sub(window.start_ns).max(1) as f64;
    let count = before.len() as f64;
    let rates: Vec<f64> = before.iter().map(|each| each.own.references as f64 / length(each)).collect();
    let mean = rates.iter().sum::<f64>() / count;
    let spread = (rates.iter().map(|each| (each - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    let (mut excess, mut time, mut many) = (0.0, 0.0, 0.0);
    for window in after.iter().filter(|each| each.own.references > 0).take(AFTER) {
        if !window.known || window.start_ns >= over {
            return None;
        }
        let long = length(window);
        let above = window.own.references as f64 - mean * long;
        excess += above;
        time += long;
        many += 1.0;
        if above <= SIGMAS * (spread * long).max(1.0) {
            let mean_length = time / many;
            let error = spread * mean_length * (many + many * many / count).sqrt();
            return Some((excess, error));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(moved: Migration, windows: &[Window], spots: &[Spot]) -> Migration {
        costs(&[(moved.program, moved.time_ns, moved.from, moved.to)], &[windows.to_vec()], spots)[0]
    }

    fn spot(time_ns: u64) -> Spot {
        Spot { program: 0, kind: 1, time_ns, counts: Counts::default(), threshold: 0.1 }
    }

    /// Return windows with two moves to other caches, after windows 20 and 40, each refilled in two windows.
    fn refilled() -> Vec<Window> {
        let mut windows: Vec<Window> = (0..90).map(|number| window(number, 100)).collect();
        for first in [20, 40] {
            windows[first].own.misses = 2_100;
            windows[first + 1].own.misses = 1_100;
        }
        windows
    }

    #[test]
    fn the_spot_of_a_refill_ends_neither_its_accounting_nor_the_phase() {
        let moves = [(0, 200, 0, 1), (0, 400, 1, 0)];
        let found = costs(&moves, &[refilled()], &[spot(210), spot(410)]);
        let seen: Vec<_> = found.iter().map(|each| (each.excess_misses, each.until_ns)).collect();
        assert_eq!(seen, [(Some(3_000.0), Some(230)), (Some(3_000.0), Some(430))]);
        // The spot lies in the window after that of the move, with hardly any of the excess left.
        let later = costs(&moves, &[refilled()], &[spot(220), spot(420)]);
        assert_eq!(later[1].excess_misses, Some(3_000.0));
    }

    #[test]
    fn misses_of_a_refill_are_not_in_the_baseline_of_the_next_move() {
        // Three windows are no baseline for the first move, so the length of its refill is unknown.
        let mut windows = refilled();
        windows[..18].iter_mut().for_each(|each| each.known = false);
        let found = costs(&[(0, 200, 0, 1), (0, 400, 1, 0), (0, 700, 0, 1)], &[windows], &[spot(210)]);
        let costs: Vec<_> = found.iter().map(|each| each.excess_misses).collect();
        assert_eq!(costs, [None, None, Some(0.0)], "not known, and not below zero");
    }

    #[test]
    fn a_change_that_follows_a_refill_ends_its_accounting() {
        let mut windows = refilled();
        windows[22].own.misses = 2_100;
        let found = costs(&[(0, 200, 0, 1)], &[windows], &[spot(210), spot(230)]);
        assert_eq!(found[0].excess_misses, None);
    }

    fn window(number: u64, misses: u64) -> Window {
        Window {
            program: 0,
            start_ns: number * 10,
            end_ns: number * 10 + 10,
            own: Counts::new(10_000, misses),
            others: Counts::default(),
            known: true,
            last: false,
        }
    }

    #[test]
    fn additional_references_are_a_cost_without_misses() {
        let mut windows: Vec<Window> = (0..30).map(|number| window(number, 100)).collect();
        windows.iter_mut().step_by(2).for_each(|each| each.own.references += 20);
        windows[20].own.references = 12_010;
        windows[21].own.references = 11_010;
        let found = cost(Migration::new(0, 200, 0, 1), &windows, &[]);
        let (excess, error) = found.excess_references.zip(found.references_error).expect("known");
        assert!((excess - 3_000.0).abs() < 20.0 && error > 10.0 && error < 30.0, "{excess} {error}");
        windows[21].known = false;
        assert_eq!(cost(Migration::new(0, 200, 0, 1), &windows, &[]).excess_references, None, "not known");
        assert_eq!(cost(Migration::new(0, 20, 0, 1), &windows, &[]).excess_references, None, "two windows");
    }

    #[test]
    fn the_excess_is_summed_until_it_vanishes() {
        let mut windows: Vec<Window> = (0..30).map(|number| window(number, 100)).collect();
        windows[20].own.misses = 2_100;
        windows[21].own.misses = 1_100;
        let found = cost(Migration::new(0, 200, 0, 1), &windows, &[]);
        assert_eq!((found.excess_misses, found.until_ns), (Some(3_000.0), Some(230)));
        let mut longer = windows.clone();
        longer[22].own.misses = 1_100;
        assert_eq!(
            cost(Migration::new(0, 200, 0, 1), &longer, &[spot(230)]).excess_misses,
            None,
            "another phase"
        );
        assert_eq!(
            cost(Migration::new(0, 20, 0, 1), &windows, &[]).excess_misses,
            None,
            "two windows say nothing"
        );
        windows[21].known = false;
        assert_eq!(cost(Migration::new(0, 200, 0, 1), &windows, &[]).excess_misses, None, "not known");
    }
}
