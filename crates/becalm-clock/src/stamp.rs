//! What a read of the clock returns, and what lies between two of them.

/// One read of the wall clock: raw ticks, and which processor they are of where the read tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The counter, as it was read.
    pub ticks: u64,
    /// x86-64: TSC_AUX, which Linux fills with the processor's number (bits 0 to 11) and its node; elsewhere 0.
    pub processor: u32,
}

/// What lies between two reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Ticks from the first read to the second; negative where the counter went backwards.
    pub ticks: i64,
    /// The two reads are of different processors, so that their difference may be of no use.
    pub migrated: bool,
}

impl Stamp {
    /// The region from this read to a later one. Counters wrap around, so the difference does, too.
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
