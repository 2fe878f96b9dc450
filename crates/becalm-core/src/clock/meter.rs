//! The subject of an evaluation: a timer around work of a given length.

/// Repeated measurements of one length, in the timer's own unit (ns or cycles), as read: nothing is
/// subtracted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Set {
    /// The values of the timer.
    pub values: Vec<f64>,
    /// The values of the core's cycle counter around each, if it was read, too.
    pub cycles: Option<Vec<f64>>,
    /// The indices of measurements with a known cause of disturbance: a context switch, another processor. In
    /// rising order.
    pub disturbed: Vec<usize>,
}

/// Work of a given length with a timer around it.
pub trait Meter {
    /// Measure work of each of the lengths `many` times, in random order.
    fn sets(&mut self, lengths: &[u64], many: usize) -> Vec<Set>;

    /// Return the smallest cost of the timer in its own unit: the smallest of many empty regions.
    fn cost(&self) -> f64;

    /// Return the step by which the timer advances, in its own unit, and how much work lasts that long; None
    /// if that is not known.
    fn quantum(&self) -> Option<Quantum>;

    /// Return the time of one unit of work, in its own unit.
    fn per_length(&self) -> f64 {
        1.0
    }

    /// Return whether the time is used up: a search then ends without a result.
    fn exhausted(&self) -> bool {
        false
    }
}

/// The step by which a timer advances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantum {
    /// The step in the timer's unit.
    pub value: f64,
    /// The step in units of work.
    pub length: f64,
}
