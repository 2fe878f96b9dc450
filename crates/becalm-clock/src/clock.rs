//! The clock as a value: calibrated, with its own cost, its step and a bound on its error.

use crate::ability::{self, Abilities};
use crate::calibration::{self, Calibration};
use crate::{begin, end, portable, quantum, Region, Scale, Stamp, Unusable};

/// The counter that ticks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The time stamp counter, read by `rdtscp; lfence` (x86-64).
    TimeStampCounter,
    /// The virtual counter, read by `isb; mrs cntvct_el0; isb` (Armv8).
    GenericTimer,
    /// The operating system's CLOCK_MONOTONIC_RAW, in ns.
    System,
}

impl Source {
    /// The counter that `begin` and `end` read in this build.
    pub const NATIVE: Source = if cfg!(target_arch = "x86_64") {
        Source::TimeStampCounter
    } else if cfg!(target_arch = "aarch64") {
        Source::GenericTimer
    } else {
        Source::System
    };

    /// Return the name, which is the sequence of instructions or the call.
    pub fn name(self) -> &'static str {
        match self {
            Source::TimeStampCounter => "rdtscp;lfence",
            Source::GenericTimer => "isb;cntvct_el0;isb",
            Source::System => "clock_gettime(CLOCK_MONOTONIC_RAW)",
        }
    }
}

/// The properties of an open clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Info {
    /// The counter that ticks come from.
    pub source: Source,
    /// The reason why the processor's own counter is not used; None where it is.
    pub fallback: Option<Unusable>,
    /// The frequency and the bound on its error.
    pub calibration: Calibration,
    /// The step by which the counter advances, in ticks; None where it could not be determined.
    pub quantum: Option<f64>,
    /// The smallest number of ticks between a begin and an end with nothing between them.
    pub smallest_cost: i64,
    /// The median number of ticks of such empty regions.
    pub median_cost: i64,
    /// The mean number of ticks of empty regions, without the longest twentieth.
    pub mean_cost: f64,
    /// The properties that the processor reports for the counter.
    pub abilities: Abilities,
}

impl Info {
    /// Return whether a read takes so long that a hypervisor must be emulating it: nothing short can be timed
    /// then.
    pub fn trapped(&self) -> bool {
        self.source == Source::TimeStampCounter && self.smallest_cost > TRAPPED
    }
}

/// The cost of an empty region, in ticks, above which its reads cannot be plain instructions.
pub const TRAPPED: i64 = 300;
/// Empty regions from which the costs and the step are taken.
const READS: usize = 4_096;

/// A calibrated clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    scale: Scale,
    info: Info,
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    opened_ns: u64,
}

impl Clock {
    /// Detect the counter, calibrate it for a tenth of a second, and measure the clock's own cost.
    ///
    /// Where the processor's counter cannot be used, the clock is the operating system's, and
    /// [`Info::fallback`] has the reason.
    ///
    /// # Errors
    /// Fails only if no clock runs forward, or if this process is not allowed to read the counter, which the
    /// system's clock reads, too.
    pub fn open() -> Result<Clock, Unusable> {
        Clock::calibrated(calibration::USUAL_NS)
    }

    /// Open a clock with another calibration time, in ns; the error falls as the time grows.
    ///
    /// # Errors
    /// See [`Clock::open`].
    pub fn calibrated(for_ns: u64) -> Result<Clock, Unusable> {
        let (abilities, usable) = ability::wall();
        let native = usable.and_then(|()| Clock::of(Source::NATIVE, None, abilities, for_ns));
        native.or_else(|reason| match reason {
            Unusable::Forbidden => Err(reason),
            _ => Clock::of(Source::System, Some(reason), abilities, for_ns),
        })
    }

    fn of(
        source: Source,
        fallback: Option<Unusable>,
        abilities: Abilities,
        for_ns: u64,
    ) -> Result<Clock, Unusable> {
        let opened_ns = portable::now_ns();
        let calibration = match source {
            Source::System => Calibration { hz: 1e9, ppm: 0.0 },
            _ => calibration::calibrate(|| begin().ticks, for_ns)?,
        };
        let scale = Scale::of_hz(calibration.hz).ok_or(Unusable::NotRunning)?;
        let mut clock = Clock {
            scale,
            opened_ns,
            info: Info {
                source,
                fallback,
                calibration,
                quantum: None,
                smallest_cost: 0,
                median_cost: 0,
                mean_cost: 0.0,
                abilities,
            },
        };
        clock.measure_itself();
        Ok(clock)
    }

    /// Read the clock at the beginning of a region. Where [`Info::fallback`] is None, [`crate::begin`] does
    /// the same without a branch.
    #[inline(always)]
    pub fn begin(&self) -> Stamp {
        match self.info.source {
            Source::System => portable::begin(),
            _ => begin(),
        }
    }

    /// Read the clock at the end of a region.
    #[inline(always)]
    pub fn end(&self) -> Stamp {
        match self.info.source {
            Source::System => portable::end(),
            _ => end(),
        }
    }

    /// Return the properties of the clock.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Convert ticks to ns; negative differences stay negative.
    #[inline]
    pub fn ns(&self, ticks: i64) -> i64 {
        self.scale.signed_ns(ticks)
    }

    /// Return the factor from ticks to ns, for loops that convert many values.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Return the moment at which the clock was opened, in ns of CLOCK_MONOTONIC_RAW.
    #[cfg(feature = "std")]
    pub(crate) fn opened_ns(&self) -> u64 {
        self.opened_ns
    }

    fn measure_itself(&mut self) {
        let mut costs = [0_i64; READS];
        let mut many = 0;
        // Twice as many attempts as needed, since migrated reads are dropped.
        for _ in 0..2 * READS {
            let Region { ticks, migrated } = self.begin().until(self.end());
            if !migrated && many < READS {
                costs[many] = ticks;
                many += 1;
            }
        }
        let costs = &mut costs[..many];
        costs.sort_unstable();
        self.info.smallest_cost = costs.first().copied().unwrap_or(0);
        self.info.median_cost = costs.get(costs.len() / 2).copied().unwrap_or(0);
        let usual = &costs[..costs.len() - costs.len() / 20];
        self.info.mean_cost = usual.iter().sum::<i64>() as f64 / usual.len().max(1) as f64;
        self.info.quantum = self.step();
    }

    fn step(&self) -> Option<f64> {
        let mut differences = [0_u64; READS];
        for (turn, difference) in differences.iter_mut().enumerate() {
            let from = self.begin();
            // Delays of many lengths: differences of equal length would all be multiples of a step that is
            // too large.
            for _ in 0..turn % 251 {
                core::hint::black_box(turn);
            }
            let region = from.until(self.end());
            if !region.migrated {
                *difference = u64::try_from(region.ticks).unwrap_or(0);
            }
        }
        quantum(&mut differences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_agrees_with_the_system_s() {
        let clock = Clock::calibrated(20_000_000).unwrap();
        let info = *clock.info();
        let before = portable::now_ns();
        let from = clock.begin();
        let inner = portable::now_ns();
        while portable::now_ns() - inner < 2_000_000 {}
        let inside = portable::now_ns() - inner;
        let ticks = from.until(clock.end()).ticks;
        let outside = portable::now_ns() - before;
        // The time read inside is a lower bound and the time read outside an upper bound, up to the
        // calibration error.
        let slack = (outside as f64 * info.calibration.ppm / 1e6) as i64 + 2;
        let ns = clock.ns(ticks);
        assert!(
            ns + slack >= inside as i64 && ns - slack <= outside as i64,
            "{inside} {ns} {outside} {info:?}"
        );
    }

    #[test]
    fn a_clock_knows_its_cost_and_the_reason_for_a_fallback() {
        let clock = Clock::calibrated(1_000_000).unwrap();
        let info = clock.info();
        assert!(info.smallest_cost >= 0 && info.median_cost >= info.smallest_cost, "{info:?}");
        assert_eq!(info.fallback.is_some(), info.source != Source::NATIVE);
        assert!(info.quantum.is_none_or(|step| step >= 1.0));
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn a_process_that_may_not_read_the_counter_gets_an_error() {
        // In a child process, since the switch would break other tests that time.
        // SAFETY: between fork and _exit the child only makes system calls.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the child does not read the counter after this.
            unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) };
            let refused = Clock::calibrated(1_000_000) == Err(Unusable::Forbidden);
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!refused)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child forked above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }

    #[test]
    fn without_a_counter_the_system_s_clock_is_used() {
        let clock =
            Clock::of(Source::System, Some(Unusable::NoInstruction), Abilities::default(), 0).unwrap();
        assert_eq!(clock.ns(1_234), 1_234);
        assert!(clock.begin().until(clock.end()).ticks >= 0);
        assert!(!clock.info().trapped());
    }
}
