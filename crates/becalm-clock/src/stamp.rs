//! The result of a read of the clock, and the difference of two.

/// One read of the wall clock: raw ticks, and the processor where the read reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The raw value of the counter.
    pub ticks: u64,
    /// The value of TSC_AUX on x86-64, which Linux sets to the processor's number (bits 0 to 11) and its
    /// node; elsewhere 0.
    pub processor: u32,
}

/// The interval between two reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The number of ticks from the first read to the second; negative where the counter went backwards.
    pub ticks: i64,
    /// The two reads are from different processors, so that their difference may be meaningless.
    pub migrated: bool,
}

impl Stamp {
    /// Return the region from this read to a later one. The difference wraps around as the counter does.
    #[inline]
    pub fn until(self, end: Stamp) -> Region {
        Region { ticks: end.ticks.wrapping_sub(self.ticks) as i64, migrated: self.processor != end.processor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_keeps_its_sign_and_shows_a_migration() {
        let at = |ticks, processor| Stamp { ticks, processor };
        assert_eq!(at(100, 1).until(at(140, 1)), Region { ticks: 40, migrated: false });
        assert_eq!(at(140, 1).until(at(100, 2)), Region { ticks: -40, migrated: true });
        assert_eq!(at(u64::MAX, 0).until(at(9, 0)), Region { ticks: 10, migrated: false });
    }
}
