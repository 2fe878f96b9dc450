//! Judgement of one program's windows: states and sweet spots, of type 1 by its own misses and of type 2 by
//! others' misses while it waits.

use serde::Serialize;

use super::change::Detector;
use super::rules::Rules;
use super::window::{high, Counts, Window};

/// A sweet spot. `kind`: 0 a program begins (exec, fork), 1 its working set changes, 2 it is evicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spot {
    pub program: usize,
    pub kind: u8,
    pub time_ns: u64,
    /// The counts above the threshold, for types 1 and 2.
    pub counts: Counts,
    pub threshold: f64,
}

/// A span of time in which a program misses more than usual (`kind` 1) or is being evicted (`kind` 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct State {
    pub program: usize,
    pub kind: u8,
    pub from_ns: u64,
    pub until_ns: u64,
}

/// The verdict about one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    pub own_high: bool,
    pub others_high: bool,
    pub change: bool,
    pub evicted: bool,
}

/// The number of decisions on own misses after an eviction that are attributed to the refill.
const REFILL: u8 = 2;

/// The state of the judgement of one program.
#[derive(Debug)]
pub struct Judge {
    own: Detector,
    joined: Counts,
    joined_from: Option<u64>,
    others: Counts,
    others_before: Option<bool>,
    refilling: u8,
    missing: Option<State>,
    evicted: Option<State>,
}

impl Judge {
    pub fn new(rules: &Rules) -> Self {
        Self {
            own: Detector::new(rules.change),
            joined: Counts::default(),
            joined_from: None,
            others: Counts::default(),
            others_before: None,
            refilling: 0,
            missing: None,
            evicted: None,
        }
    }

    /// Judge the next window, in order.
    pub fn window(
        &mut self,
        window: &Window,
        rules: &Rules,
        spots: &mut Vec<Spot>,
        states: &mut Vec<State>,
    ) -> Marks {
        if !window.known {
            self.unknown(states);
            return Marks::default();
        }
        if window.last && rules.least_references > 0 {
            // A program that has ended cannot be moved.
            self.unknown(states);
            return Marks::default();
        }
        let (others_high, evicted) = self.waits(window, rules, spots, states);
        let (own_high, change) = self.runs(window, rules, spots, states);
        Marks { own_high, others_high, change, evicted }
    }

    /// Close open states at the end of the program or the stream.
    pub fn finish(&mut self, states: &mut Vec<State>) {
        states.extend(self.missing.take());
        states.extend(self.evicted.take());
    }

    fn unknown(&mut self, states: &mut Vec<State>) {
        self.own.skip();
        (self.joined, self.joined_from) = (Counts::default(), None);
        (self.others, self.others_before) = (Counts::default(), None);
        self.refilling = 0;
        self.finish(states);
    }

    fn waits(
        &mut self,
        window: &Window,
        rules: &Rules,
        spots: &mut Vec<Spot>,
        states: &mut Vec<State>,
    ) -> (bool, bool) {
        self.others += window.others;
        let waited = window.others.references > 0;
        if waited && self.others.references < rules.least_references {
            return (false, false);
        }
        let others = std::mem::take(&mut self.others);
        let is_high = waited && high(others, rules.others_factor);
        let before = self.others_before.replace(is_high);
        let spot = is_high && (!rules.onset || before != Some(true));
        if is_high {
            self.refilling = REFILL;
        }
        if spot {
            let threshold = 1.0 / rules.others_factor;
            spots.push(Spot {
                program: window.program,
                kind: 2,
                time_ns: window.end_ns,
                counts: others,
                threshold,
            });
        }
        follow(&mut self.evicted, is_high, 2, window, window.start_ns, states);
        (is_high, spot)
    }

    fn runs(
        &mut self,
        window: &Window,
        rules: &Rules,
        spots: &mut Vec<Spot>,
        states: &mut Vec<State>,
    ) -> (bool, bool) {
        let from_ns = *self.joined_from.get_or_insert(window.start_ns);
        self.joined += window.own;
        if self.joined.references < rules.least_references {
            return (false, false);
        }
        let own = std::mem::take(&mut self.joined);
        self.joined_from = None;
        let verdict = self.own.window(own);
        let refill = self.refilling > 0 && !rules.refill_is_change;
        self.refilling = self.refilling.saturating_sub(1);
        let spot = verdict.spot && !refill;
        if spot {
            let Window { program, end_ns, .. } = *window;
            spots.push(Spot { program, kind: 1, time_ns: end_ns, counts: own, threshold: verdict.threshold });
        }
        follow(&mut self.missing, verdict.high, 1, window, from_ns, states);
        (verdict.high, spot)
    }
}

/// Extend, begin or end a state with a window.
fn follow(
    open: &mut Option<State>,
    is_high: bool,
    kind: u8,
    window: &Window,
    from_ns: u64,
    states: &mut Vec<State>,
) {
    match (open.as_mut(), is_high) {
        (Some(state), true) => state.until_ns = window.end_ns,
        (Some(_), false) => states.extend(open.take()),
        (None, true) => {
            *open = Some(State { program: window.program, kind, from_ns, until_ns: window.end_ns });
        }
        (None, false) => {}
    }
}
