//! The few numbers of a record from one snapshot, flat, so that the sampler's ring can carry them; and how
//! far its counters moved since an earlier one.

use super::column::Take;
use super::counted::{factor, COUNTED, SOURCES, SOURCE_OF, STATES};
use super::table::TABLE;
use crate::source::snapshot::{known, wrapped, Unknown};

pub use crate::source::snapshot::Change;

/// The number of numbers of a flat digest: the time, the counters, the states, and for each source a number
/// that stands for the devices that were counted.
pub const WIDTH: usize = 1 + COUNTED.len() + STATES.len() + SOURCES.len();

pub(super) const FIRST_STATE: usize = 1 + COUNTED.len();
pub(super) const DEVICES: usize = FIRST_STATE + STATES.len();

/// One snapshot in the numbers of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u64; WIDTH]);

impl Digest {
    /// Return CLOCK_MONOTONIC_RAW just before the first source was read, ns.
    pub fn at_ns(&self) -> i64 {
        self.0[0] as i64
    }

    /// Return a state by its place in `STATES`.
    pub fn state(&self, place: usize) -> Option<u64> {
        known(self.0[FIRST_STATE + place])
    }

    /// Return a state by its column's name.
    #[cfg(test)]
    pub fn state_of(&self, name: &str) -> Option<u64> {
        self.state(STATES.iter().position(|column| TABLE[*column].name == name)?)
    }

    /// Return the number of runnable tasks, except the reader.
    pub fn others_running(&self) -> Option<u64> {
        let sampled = |column: &usize| matches!(TABLE[*column].take, Take::Sampled(_));
        Some(self.state(STATES.iter().position(sampled)?)?.saturating_sub(1))
    }

    /// Return how far a column of `COUNTED`, by its place there, moved since an earlier digest of the same `Machine`.
    pub fn since(&self, before: &Self, place: usize) -> Change {
        let column = COUNTED[place];
        let devices = DEVICES + SOURCE_OF[place];
        if self.0[devices] != before.0[devices] {
            return Err(Unknown::Changed);
        }
        let (Some(one), Some(two)) = (known(before.0[1 + place]), known(self.0[1 + place])) else {
            return Err(Unknown::Unread);
        };
        let back = || match TABLE[column].take {
            // The kernel prints 32 bits of each term: when one of them begins again, the sum loses 2^32.
            Take::Sum { each, wraps: true, .. } => {
                let unit = factor(each);
                wrapped(one / unit, two / unit).map(|moved| moved * unit)
            }
            _ => None,
        };
        two.checked_sub(one).or_else(back).ok_or(Unknown::Backwards)
    }

    /// Return the changes of all counters since an earlier digest, by `COUNTED`.
    pub fn difference(&self, before: &Self) -> [Change; COUNTED.len()] {
        std::array::from_fn(|place| self.since(before, place))
    }

    /// Return the states of the interval since an earlier digest, by `STATES`: a number that must not change,
    /// or the middle of both ends. Sampled states are not among them.
    pub fn states(&self, before: &Self) -> [Change; STATES.len()] {
        std::array::from_fn(|place| {
            let both = self.state(place).zip(before.state(place)).ok_or(Unknown::Unread);
            match TABLE[STATES[place]].take {
                Take::Count(_) => {
                    both.and_then(|(now, then)| (now == then).then_some(now).ok_or(Unknown::Number))
                }
                _ => both.map(|(now, then)| now.midpoint(then)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_of_32_bits_begin_again() {
        let column = COUNTED.iter().position(|column| TABLE[*column].name == "disk_busy_ns").unwrap();
        let digest = |ms: u64| {
            let mut numbers = [0; WIDTH];
            numbers[1 + column] = ms * 1_000_000;
            Digest(numbers)
        };
        let near = (1 << 32) - 5;
        assert_eq!(digest(7).since(&digest(near), column), Ok(12_000_000));
        assert_eq!(digest(near + 7).since(&digest(2 * near), column), Ok(12_000_000), "one of two disks");
        assert_eq!(digest(7).since(&digest(1 << 31), column), Err(Unknown::Backwards), "a reset");
    }
}
