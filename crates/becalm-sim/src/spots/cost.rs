//! What a migration cost: the misses that its program had afterwards above those of the same phase before, and the
//! references, which are what cold private caches cost where both CPUs share the last one.
//!
//! A program that comes to another last-level cache misses more at once, which is a spot of type 1 by every rule. That it
//! begins with the window of the move or the next one tells it from a change of the program: it is the refill's own, ends
//! neither its accounting nor the phase of before, and the windows of a refill are not what is usual for the next move.

use std::collections::HashSet;

use serde::Serialize;

use super::judge::Spot;
use super::window::{Counts, Window};

/// A program on another CPU than before, moved by whomever.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Migration {
    pub program: usize,
    pub time_ns: u64,
    pub from: u32,
    pub to: u32,
    /// Misses above those that so many references had before; none where too little is known about before or after.
    pub excess_misses: Option<f64>,
    /// Standard error of that, by the chance of counting alone.
    pub error: Option<f64>,
    /// Until nothing was left of it.
    pub until_ns: Option<u64>,
    /// References above those of as much time before, and their standard error by what windows before differed: right of a
    /// program that runs all the time.
    pub excess_references: Option<f64>,
    pub references_error: Option<f64>,
}

/// Windows of before that say what is usual, and windows after of which the excess is summed.
const BEFORE: usize = 20;
const AFTER: usize = 40;

/// Fewer windows of before say nothing.
const LEAST: usize = 3;

/// The excess is over when a window is within so many standard errors.
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

/// What is known of one program: its windows, when its working set changes, and when it was refilling caches.
#[derive(Debug, Default)]
struct Past<'a> {
    windows: &'a [Window],
    changes: Vec<u64>,
    /// Begin and end of each, in order; an end is that of all until then.
    refills: Vec<(u64, u64)>,
    /// Those of `changes` that are refills.
    own: HashSet<u64>,
}

/// Migrations (program, time, from, to) in order of time, with their costs, by the windows of each program and the spots
/// of all.
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
    /// The next migration with its cost, which is the past of those that follow.
    fn migrated(&mut self, moved: Migration) -> Migration {
        let first = self.windows.partition_point(|each| each.end_ns <= moved.time_ns);
        let own = self.own(moved.time_ns, first);
        let found = self.cost(moved, first, own.unwrap_or(moved.time_ns));
        let end = match (found.until_ns, own) {
            (Some(until_ns), _) => until_ns,
            // It was seen, and not how long it lasted.
            (None, Some(_)) => self.windows.get(first + AFTER).map_or(u64::MAX, |each| each.start_ns),
            (None, None) => moved.time_ns,
        };
        let before = self.refills.last().map_or(0, |each| each.1);
        self.refills.push((moved.time_ns, end.max(before)));
        self.own.extend(own);
        found
    }

    /// The spot that is the refill of a move: the first one, if it comes with the window of the move or the next one.
    fn own(&self, moved_ns: u64, first: usize) -> Option<u64> {
        let last = self.windows.get(first..)?.iter().take(2).next_back()?.end_ns;
        let next = self.changes.partition_point(|&at| at <= moved_ns);
        self.changes.get(next).copied().filter(|&at| at <= last)
    }

    /// Whether a window is one of a refill.
    fn refilled(&self, window: &Window) -> bool {
        let begun = self.refills.partition_point(|each| each.0 < window.end_ns);
        begun > 0 && window.start_ns < self.refills[begun - 1].1
    }

    /// `seen_ns`: until then, spots are the refill's own.
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

/// References above the usual ones of as much time, until a window is within what windows before differ, and their error.
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

    /// Two moves to other caches, after windows 20 and 40, each refilled in two windows.
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
        // Said with the window after the move's, where hardly anything of that was left.
        let later = costs(&moves, &[refilled()], &[spot(220), spot(420)]);
        assert_eq!(later[1].excess_misses, Some(3_000.0));
    }

    #[test]
    fn what_a_refill_missed_is_not_usual_for_the_next_move() {
        // Three windows of before say nothing of the first move, so nobody knows how long its refill lasted.
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
    fn references_more_are_a_cost_too_where_no_miss_is() {
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
    fn what_is_above_the_usual_is_the_cost_until_it_vanishes() {
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
