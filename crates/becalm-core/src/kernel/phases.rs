//! The kernel `phases`: reads all lines of some data repeatedly, then of other data that it has not read
//! before. A mark precedes each phase: at that moment a cache holds nothing that is needed next.

use std::hint::black_box;

use super::{measured, Done, Given, LINE};

const WORDS: usize = LINE / size_of::<u64>();

/// Return the memory of the data of all phases.
pub fn memory(given: &Given) -> u64 {
    given.number("size").saturating_mul(given.number("phases"))
}

pub fn run(given: &Given) -> Done {
    let words = (given.number("size") as usize / LINE).max(1) * WORDS;
    let (sweeps, phases) = (given.number("sweeps"), given.number("phases"));
    let data: Vec<u64> = (0..(words as u64).saturating_mul(phases)).collect();
    measured(phases, || {
        let mut sum = 0_u64;
        for phase in data.chunks_exact(words) {
            given.marks.mark();
            for _ in 0..sweeps {
                sum = black_box(phase).iter().step_by(WORDS).fold(sum, |sum, word| sum.wrapping_add(*word));
            }
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;

    #[test]
    fn the_checksum_is_the_sum_of_a_word_of_each_line_in_each_sweep() {
        // Two phases have 64 lines each: words 0, 8, …, 1016, three times each.
        let wanted: u64 = 3 * (0..128).map(|line| line * 8).sum::<u64>();
        assert_eq!(checksum("phases", &[("size", 4096), ("sweeps", 3), ("phases", 2)]), wanted);
    }
}
