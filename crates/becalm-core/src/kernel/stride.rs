//! The kernel `stride`: reads one word of every `step` bytes, from end to end and again. Lines of which
//! little is used pass through the caches; hardware that reads ahead of the program mostly predicts the next
//! one.

use std::hint::black_box;

use super::{measured, Done, Given};

const WORD: usize = size_of::<u64>();

pub fn run(given: &Given) -> Done {
    let values: Vec<u64> = (0..given.number("size") / WORD as u64).collect();
    let (work, step) = (given.number("work"), (given.number("step") as usize).div_ceil(WORD));
    measured(work, || {
        let (mut sum, mut left) = (0_u64, work as usize);
        while left > 0 {
            let before = left;
            for value in black_box(&values).iter().step_by(step).take(left) {
                sum = sum.wrapping_add(*value);
                left -= 1;
            }
            debug_assert!(left < before);
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;

    #[test]
    fn the_checksum_is_the_sum_of_every_so_manieth_word() {
        // Of 512 words every 32nd is read: 16 per round.
        let round: u64 = (0..16).map(|index| index * 32).sum();
        assert_eq!(checksum("stride", &[("size", 4096), ("step", 256), ("work", 32)]), 2 * round);
        assert_eq!(checksum("stride", &[("size", 4096), ("step", 256), ("work", 18)]), round + 32);
        // A step longer than the whole buffer reads the first word again and again.
        assert_eq!(checksum("stride", &[("size", 4096), ("step", 1 << 20), ("work", 5)]), 0);
    }
}
