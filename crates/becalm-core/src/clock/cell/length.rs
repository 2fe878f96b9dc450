//! A length that a search found.

use serde::Serialize;

use crate::clock::chain::Check;
use crate::clock::search::confirm::Evidence;
use crate::clock::search::Found;

/// A length that was found, as time of the work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Length {
    /// The number of additions.
    pub additions: u64,
    /// The time of the additions in ns at the core's clock of this cell; the least of the searches.
    pub ns: f64,
    /// The median of the searches (for an even number the longer of the two), in ns.
    pub typical_ns: f64,
    /// The smallest and the largest of the searches, in ns.
    pub range_ns: (f64, f64),
    /// The number of measurements of the fresh sets that confirmed the least.
    pub confirmed: usize,
    /// The coefficient of variation (t_min) or share of overlap (t_diff) of these sets.
    pub value: f64,
    /// The share of overlap of two sets of one length (t_diff only): the null control.
    pub null: Option<f64>,
}

impl Length {
    pub(super) fn of(found: Found, evidence: Evidence, check: &Check) -> Length {
        let ns = |length: u64| length as f64 * check.addition_ns;
        Length {
            confirmed: evidence.many,
            value: evidence.value,
            null: evidence.null,
            additions: found.length,
            ns: ns(found.length),
            typical_ns: ns(found.length),
            range_ns: (ns(found.range.0), ns(found.range.1)),
        }
    }

    /// Combine several searches: the least, since other programs on a machine only add scatter; their median
    /// and their range.
    pub(super) fn least(mut found: Vec<Length>) -> Option<Length> {
        found.sort_by(|one, other| one.ns.total_cmp(&other.ns));
        let low = found.iter().map(|each| each.range_ns.0).fold(f64::INFINITY, f64::min);
        let high = found.iter().map(|each| each.range_ns.1).fold(0.0, f64::max);
        let typical_ns = found.get(found.len() / 2)?.ns;
        found.first().map(|least| Length { range_ns: (low, high), typical_ns, ..*least })
    }
}
