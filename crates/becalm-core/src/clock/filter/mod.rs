//! The filter that removes the operating system's share from a set of measurements, and reports how much that
//! was.

pub mod forest;
pub mod robust;

use super::meter::Set;

/// The way to find what the operating system added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Nothing is removed.
    None,
    /// Measurements with a known cause are removed, then those far above the median.
    Robust,
    /// The published filter: an isolation forest, with this seed.
    Forest {
        /// The seed of its random cuts.
        seed: u64,
    },
}

/// The largest share of measurements that may be removed: a threshold that is searched for can make any
/// machine look good, so above this share the result is that nothing could be measured.
pub const MOST_REMOVED: f64 = 0.01;

/// A set without the operating system's share.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleaned {
    /// The remaining measurements, in their order.
    pub values: Vec<f64>,
    /// The share of measurements that were removed.
    pub removed: f64,
    /// The number of removed measurements.
    pub taken: usize,
}

impl Cleaned {
    /// Return whether so little was removed that the rest is meaningful. One of a set of fewer than a hundred
    /// is no evidence of a share above 1 %: of 30, at a share of 1 %, one or more are removed in 26 of 100
    /// sets.
    pub fn measurable(&self) -> bool {
        self.taken <= 1 || self.removed <= MOST_REMOVED
    }
}

impl Filter {
    /// Remove what the operating system added. `quantum` is the timer's step in its unit; 0: not known.
    pub fn clean(self, set: &Set, quantum: f64) -> Cleaned {
        let kept = match self {
            Filter::None => vec![true; set.values.len()],
            Filter::Robust => robust::kept(set, quantum),
            Filter::Forest { seed } => forest::kept(set, seed),
        };
        let values: Vec<f64> =
            set.values.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(value, _)| *value).collect();
        let all = set.values.len().max(1) as f64;
        let taken = set.values.len() - values.len();
        Cleaned { removed: taken as f64 / all, taken, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_values_are_counted_and_capped() {
        let mut values = vec![100.0; 990];
        values.extend([10_000.0; 10]);
        let set = Set { values: values.clone(), ..Set::default() };
        let cleaned = Filter::Robust.clean(&set, 1.0);
        assert_eq!((cleaned.values.len(), cleaned.removed, cleaned.measurable()), (990, 0.01, true));
        values.push(10_000.0);
        assert!(!Filter::Robust.clean(&Set { values, ..Set::default() }, 1.0).measurable());
        assert_eq!(Filter::None.clean(&set, 1.0).removed, 0.0);
        // One of a small set may be removed, two may not.
        let few = |odd: usize| [vec![100.0; 30 - odd], vec![10_000.0; odd]].concat();
        let measurable =
            |odd| Filter::Robust.clean(&Set { values: few(odd), ..Set::default() }, 1.0).measurable();
        assert_eq!((measurable(0), measurable(1), measurable(2)), (true, true, false));
    }
}
