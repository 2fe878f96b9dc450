//! A set of CPUs, as for those that are idle or have tasks to give away. A search among thousands reads a few
//! words.

use std::ops::Range;

pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// Create an empty set for this number of CPUs.
    pub fn new(cpus: usize) -> Self {
        Self { words: vec![0; cpus.div_ceil(64)] }
    }

    pub fn set(&mut self, cpu: usize, inside: bool) {
        let bit = 1 << (cpu % 64);
        if inside {
            self.words[cpu / 64] |= bit;
        } else {
            self.words[cpu / 64] &= !bit;
        }
    }

    pub fn contains(&self, cpu: usize) -> bool {
        self.words[cpu / 64] >> (cpu % 64) & 1 == 1
    }

    /// Return the members in a range, in ascending order.
    pub fn within(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let words = range.start / 64..range.end.div_ceil(64);
        words.flat_map(move |word| {
            let mut left = self.words[word];
            if word == range.start / 64 {
                left &= u64::MAX << (range.start % 64);
            }
            if word == range.end / 64 {
                left &= (1 << (range.end % 64)) - 1;
            }
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let bit = left.trailing_zeros() as usize;
                    left &= left - 1;
                    64 * word + bit
                })
            })
        })
    }

    /// Return the lowest member in a range.
    pub fn first_in(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            let left = self.words[at / 64] >> (at % 64);
            if left != 0 {
                let found = at + left.trailing_zeros() as usize;
                return (found < range.end).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Return the first member of a range after a CPU in it, wrapping around; that CPU itself is excluded.
    pub fn next_after(&self, cpu: usize, range: Range<usize>) -> Option<usize> {
        self.first_in(cpu + 1..range.end).or_else(|| self.first_in(range.start..cpu))
    }

    /// Return the member of a range with the largest weight, except `but`; the lowest one among equals.
    pub fn heaviest(&self, range: Range<usize>, but: usize, weights: &[u64]) -> Option<usize> {
        let mut found = None;
        let mut most = 0;
        for cpu in self.within(range) {
            if weights[cpu] > most && cpu != but {
                (found, most) = (Some(cpu), weights[cpu]);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_set_found_and_removed() {
        let mut state = 3u64;
        for cpus in [1, 2, 63, 64, 65, 130, 200] {
            let (mut set, mut plain) = (CpuSet::new(cpus), vec![false; cpus]);
            for _ in 0..300 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (cpu, inside) = ((state >> 33) as usize % cpus, state >> 62 > 1);
                set.set(cpu, inside);
                plain[cpu] = inside;
                let (one, other) = ((state >> 20) as usize % cpus, (state >> 40) as usize % cpus);
                let range = one.min(other)..one.max(other) + 1;
                let found: Vec<usize> = set.within(range.clone()).collect();
                assert_eq!(found, range.clone().filter(|&each| plain[each]).collect::<Vec<_>>());
                let round = (one + 1..range.end).chain(range.start..one).find(|&each| plain[each]);
                if range.contains(&one) {
                    assert_eq!(set.next_after(one, range.clone()), round);
                }
                assert_eq!(set.contains(cpu), inside);
                assert_eq!(set.first_in(range.clone()), found.first().copied());
                let weights: Vec<u64> = (0..cpus as u64).map(|each| 1 + each * 7 % 5).collect();
                let others = found.iter().copied().filter(|&each| each != cpu);
                let heaviest = others.max_by_key(|&each| (weights[each], std::cmp::Reverse(each)));
                assert_eq!(set.heaviest(range.clone(), cpu, &weights), heaviest);
            }
        }
    }
}
