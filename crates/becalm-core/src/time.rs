//! The clock of reported figures: the system's, or a scripted one for tests of exact figures.
//!
//! Waits, deadlines and the moments at which a program begins and ends are always on the system's clock
//! (`exec::now_ns`). A scripted clock changes what is reported, never how long a wait takes.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crate::exec;

/// A source of time for reported figures, ns.
pub trait Clock {
    /// Return the monotonic time.
    fn now_ns(&self) -> i64;
    /// Return the Unix time.
    fn unix_ns(&self) -> i64;
    /// Return the CPU time of the calling thread.
    fn cpu_ns(&self) -> i64;
}

/// The clocks of the kernel: CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_THREAD_CPUTIME_ID.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ns(&self) -> i64 {
        exec::now_ns()
    }

    fn unix_ns(&self) -> i64 {
        exec::clock_ns(libc::CLOCK_REALTIME)
    }

    fn cpu_ns(&self) -> i64 {
        exec::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
    }
}

/// A clock that advances by a fixed step at each reading of the monotonic time, and by `advance`. CPU time
/// stands still.
#[derive(Debug)]
pub struct ScriptedClock {
    start_ns: i64,
    step_ns: i64,
    unix_ns: i64,
    now_ns: AtomicI64,
}

impl ScriptedClock {
    /// Return a clock that shows `start_ns` first, when the Unix time is `unix_ns`.
    pub fn new(start_ns: i64, step_ns: i64, unix_ns: i64) -> Self {
        Self { start_ns, step_ns, unix_ns, now_ns: AtomicI64::new(start_ns) }
    }

    /// Advance the clock.
    pub fn advance(&self, by_ns: i64) {
        self.now_ns.fetch_add(by_ns, Ordering::Relaxed);
    }
}

impl Clock for ScriptedClock {
    fn now_ns(&self) -> i64 {
        self.now_ns.fetch_add(self.step_ns, Ordering::Relaxed)
    }

    fn unix_ns(&self) -> i64 {
        self.unix_ns + self.now_ns.load(Ordering::Relaxed) - self.start_ns
    }

    fn cpu_ns(&self) -> i64 {
        0
    }
}

/// Either clock, behind one branch. Clones of a scripted clock show the same time.
#[derive(Debug, Clone, Default)]
pub enum AnyClock {
    #[default]
    System,
    Scripted(Arc<ScriptedClock>),
}

impl AnyClock {
    /// Return whether the figures of this clock are scripted.
    pub fn is_scripted(&self) -> bool {
        matches!(self, Self::Scripted(_))
    }

    /// Return the Unix time in whole seconds; 0 before 1970.
    pub fn unix_s(&self) -> u64 {
        u64::try_from(self.unix_ns() / 1_000_000_000).unwrap_or(0)
    }

    /// Return the time that has passed since a monotonic time.
    pub fn since(&self, begun_ns: i64) -> Duration {
        Duration::from_nanos(u64::try_from(self.now_ns() - begun_ns).unwrap_or(0))
    }

    /// Return the Unix time minus the monotonic time.
    pub fn epoch_ns(&self) -> i64 {
        self.unix_ns() - self.now_ns()
    }
}

impl Clock for AnyClock {
    fn now_ns(&self) -> i64 {
        match self {
            Self::System => SystemClock.now_ns(),
            Self::Scripted(clock) => clock.now_ns(),
        }
    }

    fn unix_ns(&self) -> i64 {
        match self {
            Self::System => SystemClock.unix_ns(),
            Self::Scripted(clock) => clock.unix_ns(),
        }
    }

    fn cpu_ns(&self) -> i64 {
        match self {
            Self::System => SystemClock.cpu_ns(),
            Self::Scripted(clock) => clock.cpu_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripted_clock_moves_by_its_step_and_when_it_is_moved() {
        let clock = AnyClock::Scripted(Arc::new(ScriptedClock::new(1_000, 10, 7_000_000_000)));
        let AnyClock::Scripted(script) = clock.clone() else { panic!() };
        assert_eq!(clock.epoch_ns(), 7_000_000_000 - 1_000);
        assert_eq!((clock.now_ns(), clock.now_ns()), (1_010, 1_020));
        script.advance(970);
        assert_eq!((clock.now_ns(), clock.unix_ns()), (2_000, 7_000_001_010));
        assert_eq!((clock.since(1_000), clock.since(1 << 40)), (Duration::from_nanos(1_010), Duration::ZERO));
        assert_eq!((clock.unix_s(), clock.cpu_ns(), clock.is_scripted()), (7, 0, true));
    }

    #[test]
    fn the_system_clock_is_the_kernel_clock() {
        let before = exec::now_ns();
        let now = AnyClock::System.now_ns();
        assert!((before..=exec::now_ns()).contains(&now));
        assert!(!AnyClock::System.is_scripted() && AnyClock::System.cpu_ns() > 0);
    }
}
