//! The time for which the machine was suspended.

use std::time::Duration;

/// Return the time for which the machine was suspended since its start, which CLOCK_BOOTTIME counts and
/// CLOCK_MONOTONIC does not.
pub fn suspended() -> Duration {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call fills the structure that it is given.
        unsafe { libc::clock_gettime(clock, &mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    // In this order the time between the two reads does not count as suspension; it is subtracted, so the
    // largest of several results counts: this thread may wait for its processor during one of them.
    let once = || {
        let boot = read(libc::CLOCK_BOOTTIME);
        boot.saturating_sub(read(libc::CLOCK_MONOTONIC))
    };
    (0..READS).map(|_| once()).max().unwrap_or_default()
}

/// The number of reads of the two clocks.
const READS: usize = 5;

/// The largest time between two reads, whatever comes between.
pub const WAKING: Duration = Duration::from_millis(500);
