//! A set of CPUs: which are idle, which have tasks to give away. Finding one among thousands reads a few words.

use std::ops::Range;

pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// None of so many CPUs.
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

    /// Those of a range, in order.
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

    /// The first of a range after a CPU of it, going round; that CPU itself is not among them.
    pub fn next_after(&self, cpu: usize, range: Range<usize>) -> Option<usize> {
        self.within(cpu + 1..range.end).chain(self.within(range.start..cpu)).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set() {
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
                    assert_eq!(set.next_after(one, range), round);
                }
                assert_eq!(set.contains(cpu), inside);
            }
        }
    }
}
