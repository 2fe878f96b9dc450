//! Detection of working-set changes: one `Detector` of type 1 for each method of `Change`, fed with a
//! program's own windows.

use std::collections::VecDeque;

use super::rules::Change;
use super::window::{high, Counts};

/// The number of ratios before which a fixed threshold of a tenth is used.
const FIRST: usize = 8;

const TENTH: f64 = 10.0;

/// The factor with which the MAD estimates a standard deviation (Rousseeuw & Croux 1993).
const MAD_TO_SIGMA: f64 = 1.4826;

/// The number of consecutive high windows after which their level is the new normal one.
const SETTLED: usize = 20;

/// The state of one detection method for one program.
#[derive(Debug, Clone)]
pub struct Detector {
    way: Change,
    /// Whether the previous window was high; None if it is unknown.
    before: Option<bool>,
    history: History,
    g: f64,
    /// The number of consecutive high windows.
    high_for: usize,
}

/// The verdict about a window: whether it is high, whether a sweet spot begins with it, and the ratio above
/// which it is high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowVerdict {
    pub high: bool,
    pub spot: bool,
    pub threshold: f64,
}

impl Detector {
    pub fn new(way: Change) -> Self {
        let history = match way {
            Change::Jump { .. } => 2,
            Change::Adaptive { history, .. }
            | Change::Cusum { history, .. }
            | Change::Rise { history, .. } => history,
        };
        Self { way, before: None, history: History::new(history), g: 0.0, high_for: 0 }
    }

    /// Skip a missing window, so that the next one has no known predecessor.
    pub fn skip(&mut self) {
        self.before = None;
    }

    /// Judge the next own window.
    pub fn window(&mut self, own: Counts) -> WindowVerdict {
        let (is_high, threshold) = self.judge(own);
        let spot = is_high && self.before == Some(false);
        self.before = Some(is_high);
        WindowVerdict { high: is_high, spot, threshold }
    }

    fn judge(&mut self, own: Counts) -> (bool, f64) {
        match self.way {
            Change::Jump { factor } => (high(own, factor), 1.0 / factor),
            Change::Adaptive { deviations, low, high: most, .. } => {
                let threshold = if self.history.len() < FIRST {
                    1.0 / TENTH
                } else {
                    let (median, mad) = self.history.spread();
                    (median + deviations * MAD_TO_SIGMA * mad).clamp(low, most)
                };
                self.history.push(own.ratio());
                (above(own, threshold), threshold)
            }
            Change::Cusum { drift, threshold, .. } => self.cusum(own, drift, threshold),
            Change::Rise { sigmas, least, .. } => self.rise(own, sigmas, least),
        }
    }

    /// Apply Page's CUSUM test for a rise. Ratios above the mean do not change it, but a level that persists
    /// becomes the new normal one.
    fn cusum(&mut self, own: Counts, drift: f64, h: f64) -> (bool, f64) {
        let ratio = own.ratio();
        if self.history.len() < FIRST {
            self.history.push(ratio);
            return (high(own, TENTH), 1.0 / TENTH);
        }
        let mean = self.history.mean();
        self.g = (self.g + ratio - mean - drift).max(0.0);
        if ratio <= mean + drift && self.g > h {
            // The ratio is back at the earlier level, so the excursion is over.
            self.g = 0.0;
        }
        let is_high = self.g > h;
        self.settle(ratio, is_high);
        (is_high, mean + drift + h)
    }

    /// Test whether the ratio exceeds the median of earlier windows by more than their spread and counting
    /// noise explain.
    fn rise(&mut self, own: Counts, sigmas: f64, least: f64) -> (bool, f64) {
        let ratio = own.ratio();
        if self.history.len() < FIRST {
            let is_high = high(own, TENTH);
            // A burst among the first ratios hardly moves the median, so that the next one is still detected.
            self.history.push(ratio);
            return (is_high, 1.0 / TENTH);
        }
        let (median, mad) = self.history.spread();
        let chance = median.max(1.0 / own.references.max(1) as f64);
        let variance =
            (MAD_TO_SIGMA * mad).powi(2) + chance * (1.0 - chance).max(0.0) / own.references.max(1) as f64;
        let rise = (sigmas * variance.sqrt()).max(least);
        let threshold = median + rise;
        // An excursion ends half-way down, so that a level near the threshold does not flip with every other
        // window.
        let is_high = above(own, if self.high_for > 0 { median + rise / 2.0 } else { threshold });
        self.settle(ratio, is_high);
        (is_high, threshold)
    }

    /// Add a ratio to the history unless it belongs to an excursion; an excursion that persists becomes the
    /// new level.
    fn settle(&mut self, ratio: f64, is_high: bool) {
        if !is_high {
            self.high_for = 0;
            self.history.push(ratio);
            return;
        }
        self.high_for += 1;
        if self.high_for >= SETTLED {
            self.high_for = 0;
            self.g = 0.0;
            self.history.clear();
            (0..FIRST).for_each(|_| self.history.push(ratio));
        }
    }
}

/// Return whether the ratio is strictly above a threshold, which need not be the reciprocal of an integer.
fn above(counts: Counts, threshold: f64) -> bool {
    counts.references > 0 && counts.misses as f64 > threshold * counts.references as f64
}

/// The last ratios, in order of time and in order of size.
#[derive(Debug, Clone)]
struct History {
    most: usize,
    in_time: VecDeque<f64>,
    sorted: Vec<f64>,
}

impl History {
    fn new(most: usize) -> Self {
        Self { most, in_time: VecDeque::new(), sorted: Vec::new() }
    }

    fn len(&self) -> usize {
        self.sorted.len()
    }

    fn clear(&mut self) {
        self.in_time.clear();
        self.sorted.clear();
    }

    fn push(&mut self, value: f64) {
        if self.in_time.len() == self.most {
            if let Some(oldest) = self.in_time.pop_front() {
                let at = self.sorted.partition_point(|&each| each < oldest);
                self.sorted.remove(at);
            }
        }
        self.in_time.push_back(value);
        let at = self.sorted.partition_point(|&each| each < value);
        self.sorted.insert(at, value);
    }

    fn mean(&self) -> f64 {
        self.sorted.iter().sum::<f64>() / self.sorted.len().max(1) as f64
    }

    /// Return the median and the median absolute deviation from it, each the lower one of an even number of
    /// values.
    fn spread(&self) -> (f64, f64) {
        let count = self.sorted.len();
        let middle = (count - 1) / 2;
        let median = self.sorted[middle];
        // Deviations grow in both directions and are merged up to the middle one.
        let (mut below, mut over, mut last) = (middle as isize, middle + 1, 0.0);
        for _ in 0..=middle {
            let down = if below >= 0 { median - self.sorted[below as usize] } else { f64::INFINITY };
            let up = if over < count { self.sorted[over] - median } else { f64::INFINITY };
            if down <= up {
                (last, below) = (down, below - 1);
            } else {
                (last, over) = (up, over + 1);
            }
        }
        (median, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: [Change; 4] = [
        Change::Jump { factor: 10.0 },
        Change::Adaptive { deviations: 3.0, history: 200, low: 0.02, high: 0.5 },
        Change::Cusum { drift: 0.02, threshold: 0.1, history: 200 },
        Change::Rise { sigmas: 5.0, least: 0.05, history: 40 },
    ];

    fn spots(way: Change, misses: &[u64]) -> Vec<usize> {
        let mut detector = Detector::new(way);
        let found = misses.iter().map(|&each| detector.window(Counts::new(1000, each)).spot);
        found.enumerate().filter(|each| each.1).map(|each| each.0).collect()
    }

    #[test]
    fn a_burst_of_misses_is_one_spot_where_it_begins() {
        let mut misses = vec![10; 30];
        misses[12] = 400;
        misses[13] = 300;
        misses[25] = 500;
        for way in WAYS {
            assert_eq!(spots(way, &misses), [12, 25], "{way:?}");
        }
    }

    #[test]
    fn there_is_no_spot_in_the_first_window_or_while_all_are_high() {
        for way in WAYS {
            assert_eq!(spots(way, &[900, 10, 10, 10]), [0usize; 0], "{way:?}");
            assert_eq!(spots(way, &[300; 60]), [0usize; 0], "{way:?}");
        }
    }

    #[test]
    fn a_level_that_stays_near_the_threshold_is_one_change() {
        let level = |number: u64| if number < 20 { 10 } else { 58 + 4 * (number % 2) };
        let misses: Vec<u64> = (0..60).map(level).collect();
        assert_eq!(spots(WAYS[3], &misses), [21]);
    }

    #[test]
    fn there_is_no_spot_after_an_unknown_window() {
        for way in WAYS {
            let mut detector = Detector::new(way);
            (0..20).for_each(|_| assert!(!detector.window(Counts::new(1000, 10)).spot));
            detector.skip();
            let verdict = detector.window(Counts::new(1000, 500));
            assert!(verdict.high && !verdict.spot, "{way:?}");
        }
    }

    #[test]
    fn all_but_jump_detect_a_change_of_a_program_that_always_misses() {
        let mut misses = vec![200; 60];
        misses[40] = 600;
        assert_eq!(spots(WAYS[0], &misses), [0usize; 0]);
        for way in &WAYS[1..] {
            assert_eq!(spots(*way, &misses), [40], "{way:?}");
        }
    }

    #[test]
    fn no_references_are_not_high() {
        for way in WAYS {
            let mut detector = Detector::new(way);
            (0..40).for_each(|_| assert!(!detector.window(Counts::default()).high, "{way:?}"));
        }
    }

    #[test]
    fn median_and_mad_agree_with_sorting() {
        let mut history = History::new(7);
        let mut random = crate::random::Random::new(5);
        let mut all = Vec::new();
        for _ in 0..200 {
            let value = (random.share() * 20.0).floor();
            history.push(value);
            all.push(value);
            let mut last: Vec<f64> = all[all.len().saturating_sub(7)..].to_vec();
            last.sort_by(f64::total_cmp);
            let median = last[(last.len() - 1) / 2];
            let mut away: Vec<f64> = last.iter().map(|each| (each - median).abs()).collect();
            away.sort_by(f64::total_cmp);
            assert_eq!(history.spread(), (median, away[(away.len() - 1) / 2]));
        }
    }
}
