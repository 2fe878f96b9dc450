//! What a migration cost: the misses that its program had afterwards above those of the same phase before, and the
//! references, which are what cold private caches cost where both CPUs share the last one.

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

/// With its cost, by the windows of its program in order and the spots of all.
pub fn cost(moved: Migration, windows: &[Window], spots: &[Spot]) -> Migration {
    let changes: Vec<u64> = spots
        .iter()
        .filter(|each| each.program == moved.program && each.kind == 1)
        .map(|each| each.time_ns)
        .collect();
    let begun = changes.iter().rfind(|&&at| at <= moved.time_ns).copied().unwrap_or(0);
    let over = changes.iter().find(|&&at| at > moved.time_ns).copied().unwrap_or(u64::MAX);
    let first = windows.partition_point(|each| each.end_ns <= moved.time_ns);
    let before: Vec<&Window> = windows[..first]
        .iter()
        .rev()
        .take_while(|each| each.start_ns >= begun)
        .filter(|each| each.known && each.own.references > 0)
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
        let spot = Spot { program: 0, kind: 1, time_ns: 205, counts: Counts::default(), threshold: 0.1 };
        assert_eq!(
            cost(Migration::new(0, 200, 0, 1), &windows, &[spot]).excess_misses,
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
