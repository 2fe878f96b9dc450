//! The kernel `cpuburner`: steps of a generator in registers, each waiting for the previous one. It neither
//! reads nor writes memory.

use std::hint::black_box;

use super::{measured, Done, Given};

/// Make a step of Knuth's MMIX generator (The Art of Computer Programming 2, 3.3.4, line 26) on a value that
/// is mixed first: compilers combine several steps of the generator alone into one.
#[inline(always)]
fn step(value: u64) -> u64 {
    (value ^ (value >> 29)).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Make a number of steps from a value on.
pub fn burn(value: u64, steps: u64) -> u64 {
    black_box((0..steps).fold(black_box(value), |value, _| step(value)))
}

pub fn run(given: &Given) -> Done {
    let work = given.amount("work");
    measured(work, || burn(1, work))
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;
    use super::*;

    #[test]
    fn the_checksum_is_the_generators_state() {
        let mut state = 1_u64;
        for _ in 0..1001 {
            state = step(state);
        }
        assert_eq!(checksum("cpuburner", &[("work", 1001)]), state);
        assert_eq!(step(0), 1_442_695_040_888_963_407);
    }
}
