//! The kernel `branchy`: a walk through a table whose entries decide what is done and where the walk
//! continues. It waits for unpredictable branches more than for memory.

use std::hint::black_box;

use super::{measured, Done, Given};
use crate::clock::random::Random;

/// Make one step: an entry decides how the state changes. Each arm has different code, so that it stays a
/// branch.
#[inline(always)]
fn step(entry: u8, state: u64) -> u64 {
    match entry & 7 {
        0 => black_box(state.wrapping_add(u64::from(entry))),
        1 => black_box(state.rotate_left(7)),
        2 => black_box(state ^ (state >> 9)),
        3 => black_box(state.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        4 => black_box(state.wrapping_sub(0x1234_5678)),
        5 => black_box(!state),
        6 => black_box(state.swap_bytes()),
        _ => black_box(state.wrapping_mul(5).wrapping_add(1)),
    }
}

pub fn run(given: &Given) -> Done {
    let mut random = Random::new(1);
    let table: Vec<u8> = (0..given.number("size")).map(|_| random.bits() as u8).collect();
    let work = given.number("work");
    measured(work, || {
        let (mut state, mut sum) = (1_u64, 0_u64);
        for turn in 0..work {
            // The upper half of the product is below the length (Lemire 2019, "Fast random integer
            // generation").
            let mixed = state.wrapping_add(turn).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            let place = ((u128::from(mixed) * table.len() as u128) >> 64) as usize;
            state = step(table[place], state);
            sum = sum.wrapping_add(state);
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;
    use super::*;

    #[test]
    fn each_entry_applies_its_operation() {
        assert_eq!(
            (0..8).map(|entry| step(entry, 256)).collect::<Vec<_>>(),
            [
                256,
                256 << 7,
                256,
                256_u64.wrapping_mul(0x9E37_79B9_7F4A_7C15),
                256_u64.wrapping_sub(0x1234_5678),
                !256,
                256_u64.swap_bytes(),
                1281
            ]
        );
    }

    #[test]
    fn the_walk_is_the_same_each_time_and_another_one_with_another_table() {
        let of = |size, work| checksum("branchy", &[("size", size), ("work", work)]);
        assert_eq!(of(4096, 1000), of(4096, 1000));
        assert_ne!(of(4096, 1000), of(4096, 1001));
        assert_ne!(of(4096, 1000), of(8192, 1000));
    }
}
