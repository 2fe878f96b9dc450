//! The kernel `chase`: one random cycle through all lines, each of which holds the place of the next. No load
//! can begin before the previous one has ended, so each miss is waited for in full: this kernel suffers most
//! when others use the cache.

use super::{measured, Done, Given, LINE};
use crate::clock::random::Random;

/// A line that holds the place of the next one.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(usize);

/// Return one cycle through all of `lines` lines, in random order (Sattolo 1986, "An algorithm to generate a
/// random cyclic permutation").
fn cycle(lines: usize) -> Vec<Line> {
    let mut made: Vec<Line> = (0..lines).map(Line).collect();
    let mut random = Random::new(1);
    for last in (1..lines).rev() {
        made.swap(last, random.below(last));
    }
    made
}

pub fn run(given: &Given) -> Done {
    let lines = cycle(given.number("size") as usize / LINE);
    let work = given.number("work");
    measured(work, || {
        let (mut at, mut sum) = (0, 0_u64);
        for _ in 0..work {
            at = lines[at].0;
            sum = sum.wrapping_add(at as u64);
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;
    use super::*;

    #[test]
    fn one_cycle_goes_through_all_lines() {
        let lines = cycle(1000);
        let mut seen = vec![false; lines.len()];
        let mut at = 0;
        for _ in 0..lines.len() {
            at = lines[at].0;
            assert!(!std::mem::replace(&mut seen[at], true), "{at} twice");
        }
        assert_eq!(at, 0, "it closes");
        assert_eq!(std::mem::size_of::<Line>(), LINE);
    }

    #[test]
    fn the_checksum_is_that_of_whole_rounds() {
        // Three rounds through 64 lines visit each three times.
        assert_eq!(checksum("chase", &[("size", 4096), ("work", 192)]), 3 * (63 * 64 / 2));
    }
}
