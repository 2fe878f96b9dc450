//! The kernel `gather`: reads at random places that do not wait for each other, so that many misses are under
//! way at once.

use super::{measured, Done, Given};
use crate::clock::random::Random;

pub fn run(given: &Given) -> Done {
    let values: Vec<u64> = (0..given.number("size") / size_of::<u64>() as u64).collect();
    let work = given.number("work");
    measured(work, || {
        let mut random = Random::new(1);
        (0..work).fold(0, |sum: u64, _| sum.wrapping_add(values[random.below(values.len())]))
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;
    use super::*;

    #[test]
    fn the_checksum_is_the_sum_of_the_drawn_values() {
        let mut random = Random::new(1);
        let wanted = (0..5000).map(|_| random.below(512) as u64).sum::<u64>();
        assert_eq!(checksum("gather", &[("size", 4096), ("work", 5000)]), wanted);
    }
}
