//! A histogram of times in buckets that are a sixteenth of a power of two wide: any quantile within 6 %, in
//! little memory.

use serde::Serialize;

const PARTS: u32 = 4;
const SIZE: usize = 64 << PARTS;

pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    largest: u64,
}

/// The summary of a distribution of times, ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    pub count: u64,
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub largest_ns: u64,
    /// The upper end of each bucket, ns, and the number of times in it; empty buckets are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<(u64, u64)>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; SIZE], count: 0, sum: 0, largest: 0 }
    }
}

impl Histogram {
    pub fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.count += 1;
        self.sum += u128::from(ns);
        self.largest = self.largest.max(ns);
    }

    /// Return an upper bound of a quantile, ns: the upper end of the bucket that contains it, and at most the
    /// largest time.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper(index).min(self.largest);
            }
        }
        self.largest
    }

    pub fn distribution(&self) -> Distribution {
        Distribution {
            count: self.count,
            mean_ns: if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 },
            p50_ns: self.quantile(0.5),
            p90_ns: self.quantile(0.9),
            p99_ns: self.quantile(0.99),
            p999_ns: self.quantile(0.999),
            largest_ns: self.largest,
            buckets: self.buckets(),
        }
    }

    fn buckets(&self) -> Vec<(u64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, &count)| count > 0);
        filled.map(|(index, &count)| (upper(index).min(self.largest), count)).collect()
    }
}

fn bucket(ns: u64) -> usize {
    let small = 1 << PARTS;
    if ns < small {
        return ns as usize;
    }
    let power = ns.ilog2();
    let part = (ns >> (power - PARTS)) & (small - 1);
    (((power - PARTS + 1) << PARTS) as u64 + part) as usize
}

fn upper(index: usize) -> u64 {
    let small = 1usize << PARTS;
    if index < small {
        return index as u64;
    }
    let (power, part) = ((index >> PARTS) as u32 + PARTS - 1, (index & (small - 1)) as u64);
    let width = 1u64 << (power - PARTS);
    (1u64 << power).saturating_add(part * width).saturating_add(width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_lies_within_its_bucket() {
        for ns in (0..5000).chain([1 << 20, (1 << 20) + 12345, u64::MAX / 3, u64::MAX]) {
            let index = bucket(ns);
            assert!(index < SIZE && upper(index) >= ns, "{ns}");
            assert!(index == 0 || upper(index - 1) < ns, "{ns}");
        }
    }

    #[test]
    fn quantiles_are_within_a_sixteenth() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|ns| histogram.add(ns));
        let found = histogram.distribution();
        assert_eq!((found.count, found.mean_ns, found.largest_ns), (10_000, 5000.5, 10_000));
        for (share, seen) in [(0.5, found.p50_ns), (0.9, found.p90_ns), (0.99, found.p99_ns)] {
            let ratio = seen as f64 / (share * 10_000.0);
            assert!((1.0..1.0625).contains(&ratio), "{share} {seen}");
        }
        assert_eq!(found.buckets.iter().map(|&(_, count)| count).sum::<u64>(), 10_000);
        assert_eq!(
            (found.buckets[0], found.buckets[31], found.buckets.last().unwrap().0),
            ((1, 1), (33, 2), 10_000)
        );
        let nothing = Histogram::default().distribution();
        assert_eq!((nothing.p99_ns, nothing.buckets), (0, vec![]));
    }
}
