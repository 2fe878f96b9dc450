//! The timers of PAPI, for comparison: loaded at run time by a program that can do so (a statically linked
//! one cannot), if PAPI is installed.
//!
//! PAPI_get_real_nsec is a system call for CLOCK_REALTIME past the vDSO, PAPI_get_real_cyc a bare rdtsc,
//! PAPI_read a counter of events.

use becalm_clock::Stamp;

use super::row::{row, Row};
use super::{Timer, Unit};

/// A function such as `long long PAPI_get_real_nsec(void)`.
pub type Read = unsafe extern "C" fn() -> i64;
/// The function `int PAPI_read(int, long long *)`.
pub type ReadEvents = unsafe extern "C" fn(i32, *mut i64) -> i32;

/// A function of a shared object that the request names.
#[derive(Debug, Clone)]
pub struct Own {
    /// The name in the request.
    pub name: String,
    /// The function that returns a rising count.
    pub read: Read,
    /// Counts per second.
    pub hz: u64,
}

/// The timers that could be loaded, each with its reason if not.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// PAPI_get_real_nsec.
    pub real_nsec: Result<Read, String>,
    /// PAPI_get_real_cyc.
    pub real_cyc: Result<Read, String>,
    /// PAPI_read of a started set of events that contains PAPI_TOT_CYC. Adding the event decides whether
    /// there is one: even without counters PAPI reports its component as enabled.
    pub read: Result<(ReadEvents, i32), String>,
    /// Timers of the user's own.
    pub own: Vec<Own>,
}

impl Default for Loaded {
    fn default() -> Loaded {
        Loaded::none("PAPI was not loaded")
    }
}

impl Loaded {
    /// Return no timers, for this reason.
    pub fn none(reason: &str) -> Loaded {
        let reason = reason.to_owned();
        Loaded {
            real_nsec: Err(reason.clone()),
            real_cyc: Err(reason.clone()),
            read: Err(reason),
            own: Vec::new(),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let plain = |read: &Result<Read, String>| read.clone().map(Plain);
        let own = self.own.iter().map(|own| {
            // These are a few names for as long as the program runs.
            let name = Box::leak(own.name.clone().into_boxed_str());
            row(name, Unit::Own { hz: own.hz }, "a function of your own", Ok::<_, String>(Plain(own.read)))
        });
        let papi = vec![
            row(
                "PAPI_get_real_nsec",
                Unit::Nanoseconds,
                "PAPI: CLOCK_REALTIME by a system call",
                plain(&self.real_nsec),
            ),
            row(
                "PAPI_get_real_cyc",
                Unit::Ticks,
                "PAPI: the counter without any order",
                plain(&self.real_cyc),
            ),
            row(
                "PAPI_read",
                Unit::Cycles,
                "PAPI: cycles of the core",
                self.read.clone().map(|(read, set)| Events(read, set)),
            ),
        ];
        papi.into_iter().chain(own).collect()
    }
}

struct Plain(Read);

impl Timer for Plain {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        // SAFETY: a function of an initialised library that takes nothing.
        Stamp { ticks: unsafe { (self.0)() } as u64, processor: 0 }
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        self.begin()
    }
}

struct Events(ReadEvents, i32);

impl Timer for Events {
    #[inline(always)]
    fn begin(&self) -> Stamp {
        let mut count = 0_i64;
        // SAFETY: a started set of one event, so one number is written.
        unsafe { (self.0)(self.1, &mut count) };
        Stamp { ticks: count as u64, processor: 0 }
    }

    #[inline(always)]
    fn end(&self) -> Stamp {
        self.begin()
    }
}
