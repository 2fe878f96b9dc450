//! The kernel `float`: steps of the logistic map x = r·x·(1 − x) (May 1976) on numbers that stay in the
//! first-level cache: it neither uses shared resources nor misses them. The map is chaotic, so that no step
//! can be left out unnoticed.

use std::hint::black_box;

use super::{measured, Done, Given};

/// The number of numbers: 8 KiB, half or less of every first-level cache for data.
const LENGTH: usize = 1024;

fn start(index: usize) -> f64 {
    (index + 1) as f64 / (LENGTH + 2) as f64
}

#[inline(always)]
fn step(value: f64) -> f64 {
    3.75 * value * (1.0 - value)
}

pub fn run(given: &Given) -> Done {
    let mut values: Vec<f64> = (0..LENGTH).map(start).collect();
    let work = given.number("work");
    measured(work, || {
        let mut left = work as usize;
        while left > 0 {
            let now = left.min(LENGTH);
            for value in &mut values[..now] {
                *value = step(*value);
            }
            black_box(&mut values);
            left -= now;
        }
        values.iter().fold(0, |sum: u64, value| sum.wrapping_add(value.to_bits()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_numbers() {
        // This is two rounds, and the first ten once more.
        let after = |index: usize, rounds: u32| (0..rounds).fold(start(index), |value, _| step(value));
        let wanted = (0..LENGTH).map(|index| after(index, 2 + u32::from(index < 10)).to_bits());
        let wanted = wanted.fold(0_u64, |sum, bits| sum.wrapping_add(bits));
        assert_eq!(checksum("float", &[("work", 2058)]), wanted);
        assert_eq!(step(0.5), 0.9375);
    }
}
