//! Windows: `Counts` are references and misses, a `Window` is those of one program for about T, and `high` is
//! the published comparison.

use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// The number of references of a cache, and of misses among them. As JSON: `[references, misses]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Counts {
    pub references: u64,
    pub misses: u64,
}

impl Counts {
    pub fn new(references: u64, misses: u64) -> Self {
        Self { references, misses }
    }

    /// Return misses per reference; 0 without references.
    pub fn ratio(self) -> f64 {
        if self.references == 0 {
            0.0
        } else {
            self.misses as f64 / self.references as f64
        }
    }

    /// Return the difference from earlier counters; None if one of them fell.
    pub fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            references: self.references.checked_sub(before.references)?,
            misses: self.misses.checked_sub(before.misses)?,
        })
    }
}

impl From<(u64, u64)> for Counts {
    fn from((references, misses): (u64, u64)) -> Self {
        Self { references, misses }
    }
}

impl From<Counts> for (u64, u64) {
    fn from(counts: Counts) -> Self {
        (counts.references, counts.misses)
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            references: self.references.saturating_add(other.references),
            misses: self.misses.saturating_add(other.misses),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Counts {
    type Output = Self;

    /// Subtract, with 0 as the smallest result.
    fn sub(self, other: Self) -> Self {
        Self {
            references: self.references.saturating_sub(other.references),
            misses: self.misses.saturating_sub(other.misses),
        }
    }
}

/// Return whether factor · misses > references (published), factor = 1/S, without a division. The comparison
/// is strict, and 0 references are not high.
pub fn high(counts: Counts, factor: f64) -> bool {
    factor * counts.misses as f64 > counts.references as f64 && counts.references > 0
}

/// The logical counters of one program for a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The index in the answer's list of programs; an id that is reused is another program.
    pub program: usize,
    pub start_ns: u64,
    pub end_ns: u64,
    /// The counts while the program ran.
    pub own: Counts,
    /// The counts of others on the CPUs of its last-level cache while it did not run.
    pub others: Counts,
    /// Whether both are right: they are not if records were lost, a counter fell, the clock stepped, or the
    /// program ran on a CPU that is not recorded.
    pub known: bool,
    /// Whether the program or the stream ended in the window, which may have any length.
    pub last: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_a_tenth_and_no_references_are_not_high() {
        for (references, misses, expected) in
            [(100, 10, false), (100, 11, true), (0, 0, false), (9, 1, true), (0, 3, false)]
        {
            assert_eq!(high(Counts::new(references, misses), 10.0), expected, "{misses} of {references}");
        }
        assert!(high(Counts::new(u64::MAX, u64::MAX), 1e300), "no overflow");
    }
}
