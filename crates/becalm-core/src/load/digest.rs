//! One snapshot in the few numbers of a record, flat, so that the sampler's ring can carry it; and how far its counters
//! moved since an earlier one.

use super::counted::{place_of, COUNTED, SOURCES};
use crate::source::snapshot::{known, wrapped, Unknown};

pub use crate::source::snapshot::Change;

/// Numbers of a flat digest: the time, the counted columns, three states, and for each source a number that
/// stands for the devices that were counted.
pub const WIDTH: usize = 1 + COUNTED.len() + 3 + SOURCES.len();

pub(super) const CPUS: usize = 1 + COUNTED.len();
pub(super) const RUNNING: usize = CPUS + 1;
pub(super) const FREQUENCY: usize = CPUS + 2;
pub(super) const DEVICES: usize = CPUS + 3;

/// One snapshot in the numbers of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u64; WIDTH]);

impl Digest {
    /// CLOCK_MONOTONIC_RAW just before the first source was read, ns.
    pub fn at_ns(&self) -> i64 {
        self.0[0] as i64
    }

    /// CPUs online.
    pub fn cpus(&self) -> Option<u64> {
        known(self.0[CPUS])
    }

    /// Runnable tasks, whoever reads included.
    pub fn running(&self) -> Option<u64> {
        known(self.0[RUNNING])
    }

    /// Mean frequency of the CPUs, kHz.
    pub fn frequency_khz(&self) -> Option<u64> {
        known(self.0[FREQUENCY])
    }

    /// How far a column of `COUNTED` moved since an earlier digest of the same `Machine`.
    pub fn since(&self, before: &Self, column: usize) -> Change {
        let devices = DEVICES + place_of(column);
        if self.0[devices] != before.0[devices] {
            return Err(Unknown::Changed);
        }
        let (Some(one), Some(two)) = (known(before.0[1 + column]), known(self.0[1 + column])) else {
            return Err(Unknown::Unread);
        };
        let unit = match COUNTED[column] {
            // Sums of milliseconds of which 32 bits are printed: when one of them begins again, the sum loses 2^32.
            "disk_busy_ns" => 1_000_000,
            "nfs_calls" | "nfs_retransmissions" => 1,
            _ => return two.checked_sub(one).ok_or(Unknown::Backwards),
        };
        two.checked_sub(one)
            .or_else(|| wrapped(one / unit, two / unit).map(|moved| moved * unit))
            .ok_or(Unknown::Backwards)
    }

    /// All columns since an earlier digest.
    pub fn difference(&self, before: &Self) -> [Change; COUNTED.len()] {
        std::array::from_fn(|column| self.since(before, column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_of_32_bits_begin_again() {
        let column = COUNTED.iter().position(|name| *name == "disk_busy_ns").unwrap();
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
