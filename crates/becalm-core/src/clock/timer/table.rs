//! The table of timers: becalm's own, the usual ones, and the reasons why one is not available.

use std::time::Instant;

use becalm_clock::cycles::CycleCounter;
use becalm_clock::{Stamp, Unusable};

use super::loaded::Loaded;
use super::row::{row, Row};
use super::{Timer, Unit};

/// Return all timers of this machine, becalm's own first. `unusable` is the reason why the processor's own
/// counter cannot be used, if so.
pub fn rows(unusable: Option<Unusable>, loaded: &Loaded) -> Vec<Row> {
    let usable = unusable.map_or(Ok(()), Err);
    let mut rows = vec![
        row("barrier", Unit::Ticks, NATIVE.0, usable.map(|()| Barrier)),
        row("fenced", Unit::Ticks, NATIVE.1, usable.map(|()| Fenced)),
        row("bare", Unit::Ticks, NATIVE.2, usable.map(|()| Bare)),
        row("clock_gettime", Unit::Nanoseconds, "CLOCK_MONOTONIC through the vDSO", Ok::<_, Unusable>(Vdso)),
        row(
            "clock_gettime call",
            Unit::Nanoseconds,
            "CLOCK_MONOTONIC by a system call",
            Ok::<_, Unusable>(SystemCall),
        ),
        row(
            "Instant",
            Unit::Nanoseconds,
            "Rust's std::time::Instant",
            Ok::<_, Unusable>(Library(Instant::now())),
        ),
        row("cycles", Unit::Cycles, NATIVE.3, CycleCounter::open().map(Cycles)),
    ];
    rows.extend(loaded.rows());
    rows
}

/// The spellings of `barrier`, `fenced`, `bare` and `cycles`.
const NATIVE: (&str, &str, &str, &str) = if cfg!(target_arch = "x86_64") {
    ("rdtscp; lfence", "lfence; rdtsc; lfence", "rdtsc", "lfence; rdpmc; lfence")
} else if cfg!(target_arch = "aarch64") {
    ("isb; mrs cntvct_el0; isb", "isb; mrs cntvct_el0; isb", "mrs cntvct_el0", "isb; mrs pmccntr_el0; isb")
} else {
    ("CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC_RAW", "no counter is known here")
};

fn plain(ticks: u64) -> Stamp {
    Stamp { ticks, processor: 0 }
}

/// The reads of becalm-clock.
struct Barrier;

impl Timer for Barrier {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        becalm_clock::begin()
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        becalm_clock::end()
    }
}

/// The other common spelling, if there is one.
struct Fenced;

impl Timer for Fenced {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        plain(fenced())
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        plain(fenced())
    }
}

/// A read of the counter without any order.
struct Bare;

impl Timer for Bare {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        plain(bare())
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        plain(bare())
    }
}

#[cfg(target_arch = "aarch64")]
use becalm_clock::instructions::aarch64::{bare, fenced};
#[cfg(target_arch = "x86_64")]
use becalm_clock::instructions::x86_64::{bare, fenced};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use becalm_clock::portable::{now_ns as bare, now_ns as fenced};

/// The function clock_gettime of libc, which reads the counter in the vDSO if the kernel has one.
struct Vdso;

impl Timer for Vdso {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        plain(gettime())
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        plain(gettime())
    }
}

#[inline(always)]
fn gettime() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    nanoseconds(&time)
}

fn nanoseconds(time: &libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The same clock by a system call, past the vDSO.
struct SystemCall;

impl Timer for SystemCall {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        plain(called())
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        plain(called())
    }
}

#[inline(always)]
fn called() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, std::ptr::from_mut(&mut time)) };
    nanoseconds(&time)
}

/// The standard library's clock, from a moment in the past on.
struct Library(Instant);

impl Timer for Library {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        plain((Instant::now() - self.0).as_nanos() as u64)
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        plain((Instant::now() - self.0).as_nanos() as u64)
    }
}

/// The core's cycle counter.
struct Cycles(CycleCounter);

impl Timer for Cycles {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        plain(self.0.read().unwrap_or(0))
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        plain(self.0.read().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_timer_reads_or_has_a_reason() {
        let rows = rows(becalm_clock::ability::wall().1.err(), &Loaded::default());
        let names: BTreeSet<&str> = rows.iter().map(|row| row.description.name).collect();
        assert_eq!(names.len(), rows.len());
        for row in rows {
            match row.timer {
                Ok(timer) => {
                    let mut measured = timer.empty(50, &mut crate::clock::caches::Buffer::new(0));
                    measured.sort_unstable();
                    assert!(measured[25] >= 0, "{}: {measured:?}", row.description.name);
                }
                Err(reason) => assert!(!reason.is_empty(), "{}", row.description.name),
            }
        }
    }

    #[test]
    fn timers_of_a_counter_that_is_none_give_its_reason() {
        let rows = rows(Some(Unusable::NotRunning), &Loaded::default());
        for name in ["barrier", "fenced", "bare"] {
            let row = rows.iter().find(|row| row.description.name == name).unwrap();
            assert_eq!(row.timer.as_ref().err(), Some(&Unusable::NotRunning.to_string()));
        }
        assert!(rows.iter().any(|row| row.timer.is_ok()));
    }
}
