//! Time that the machine slept.

use std::time::Duration;

/// Return the time for which the machine was suspended since its start: what CLOCK_BOOTTIME counts and CLOCK_MONOTONIC
/// does not.
pub fn suspended() -> Duration {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call fills the structure that it is given.
        unsafe { libc::clock_gettime(clock, &mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    // In this order what passes between the two reads does not count as sleep; it is taken off, so the most of several
    // counts: this thread may wait for its processor at one of them.
    let once = || {
        let boot = read(libc::CLOCK_BOOTTIME);
        boot.saturating_sub(read(libc::CLOCK_MONOTONIC))
    };
    (0..READS).map(|_| once()).max().unwrap_or_default()
}

/// Reads of the two clocks.
const READS: usize = 5;

/// Two reads are apart by this much at most, whatever comes between.
pub const WAKING: Duration = Duration::from_millis(500);
