//! Conversion of ticks to nanoseconds by one multiplication and one shift.

/// A factor `multiplier / 2^shift`; the product has 128 bits, so that no number of ticks overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    multiplier: u64,
    shift: u32,
}

/// The least number of bits of the multiplier, which keeps the relative error of the factor below 10⁻⁹.
const BITS: u32 = 32;

impl Scale {
    /// Return the scale of a counter that advances `hz` times per second, or None if `hz` is not a positive
    /// number.
    pub fn of_hz(hz: f64) -> Option<Scale> {
        let factor = 1e9 / hz;
        if !(factor.is_finite() && factor > 0.0) {
            return None;
        }
        let (mut scaled, mut shift) = (factor, 0);
        while scaled < (1_u64 << BITS) as f64 {
            scaled *= 2.0;
            shift += 1;
        }
        // A counter slower than one tick in 2^32 ns would not overflow, but is useless as a clock.
        (scaled < (1_u64 << 63) as f64 && shift < 64)
            .then_some(Scale { multiplier: (scaled + 0.5) as u64, shift })
    }

    /// Convert ticks to ns, rounded down.
    #[inline]
    pub fn ns(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.multiplier)) >> self.shift) as u64
    }

    /// Convert a difference in ticks, which may be negative, to ns.
    #[inline]
    pub fn signed_ns(self, ticks: i64) -> i64 {
        let ns = self.ns(ticks.unsigned_abs()) as i64;
        if ticks < 0 {
            -ns
        } else {
            ns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_frequencies() {
        for (hz, ticks, ns) in [
            (1e9, 12_345, 12_345),
            (2e9, 2_000_000_001, 1_000_000_000),
            (24e6, 24_000_000 * 3_600, 3_600_000_000_000),
            (2.6e9, 26, 10),
            (54e6, 54, 1_000),
        ] {
            let found = Scale::of_hz(hz).expect("a frequency").ns(ticks);
            assert!(found.abs_diff(ns) <= 1 + ns / 1_000_000_000, "{hz}: {found} for {ns}");
        }
    }

    #[test]
    fn ten_years_do_not_overflow_and_differ_by_less_than_a_second() {
        let ticks = 10 * 365 * 86_400 * 2_600_000_000_u64;
        let ns = Scale::of_hz(2.6e9).expect("a frequency").ns(ticks);
        assert!(ns.abs_diff(10 * 365 * 86_400 * 1_000_000_000) < 1_000_000_000, "{ns}");
    }

    #[test]
    fn negative_differences_stay_so_and_no_frequency_is_no_scale() {
        let scale = Scale::of_hz(1e9).expect("a frequency");
        assert_eq!((scale.signed_ns(-17), scale.signed_ns(17)), (-17, 17));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Scale::of_hz(bad), None, "{bad}");
        }
    }
}
