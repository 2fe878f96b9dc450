//! CLOCK_MONOTONIC_RAW in nanoseconds, for machines whose counters cannot be used and as the reference of
//! calibration.

use crate::Stamp;

/// Read CLOCK_MONOTONIC_RAW, which NTP does not slew, in ns (CLOCK_MONOTONIC on systems that lack it).
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure it is passed. It cannot fail for a clock that exists.
    unsafe { libc::clock_gettime(CLOCK, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_os = "linux")]
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW;
#[cfg(not(target_os = "linux"))]
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// Read the clock at the beginning of a region.
#[inline]
pub fn begin() -> Stamp {
    Stamp { ticks: now_ns(), processor: 0 }
}

/// Read the clock at the end of a region.
#[inline]
pub fn end() -> Stamp {
    Stamp { ticks: now_ns(), processor: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let before = now_ns();
        assert!(begin().until(end()).ticks >= 0 && now_ns() >= before);
    }
}
