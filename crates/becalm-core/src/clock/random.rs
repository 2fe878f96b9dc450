//! Random numbers from a seed that is reported, so that an evaluation can be repeated.

/// SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Create a generator; its numbers follow from the seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Return 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Return a uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Return a uniform integer below `limit`, which is at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        // The bias of this product is below limit / 2^64.
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// Shuffle the slice (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_digits_and_limits() {
        // These are the reference implementation's first outputs for seed 1234567 (Vigna, splitmix64.c).
        let mut random = Random::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit()) && random.below(7) < 7));
        let mut order: Vec<usize> = (0..50).collect();
        random.shuffle(&mut order);
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}
