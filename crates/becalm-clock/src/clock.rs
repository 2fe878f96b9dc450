//! The clock as a value: calibrated, with its own cost and step, and how far it can be believed.

use crate::ability::{self, Abilities};
use crate::calibration::{self, Calibration};
use crate::{begin, end, portable, quantum, Region, Scale, Stamp, Unusable};

/// What ticks are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// x86-64: the time stamp counter by `rdtscp; lfence`.
    TimeStampCounter,
    /// Armv8: the virtual counter by `isb; mrs cntvct_el0; isb`.
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

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Source::TimeStampCounter => "rdtscp;lfence",
            Source::GenericTimer => "isb;cntvct_el0;isb",
            Source::System => "clock_gettime(CLOCK_MONOTONIC_RAW)",
        }
    }
}

/// What is known of the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Info {
    /// What ticks are of.
    pub source: Source,
    /// Why it is not the processor's own counter, where it is not.
    pub fallback: Option<Unusable>,
    /// Ticks a second, and their error in parts in a million.
    pub calibration: Calibration,
    /// The step by which the counter advances, in ticks; None where it could not be told.
    pub quantum: Option<f64>,
    /// Ticks between a begin and an end with nothing between them: the smallest and the median of many.
    pub smallest_cost: i64,
    /// The median of them.
    pub median_cost: i64,
    /// The mean of them without the longest twentieth.
    pub mean_cost: f64,
    /// What the processor says of the counter.
    pub abilities: Abilities,
}

impl Info {
    /// A read takes so long that a hypervisor must be emulating it: nothing short can be timed.
    pub fn trapped(&self) -> bool {
        self.source == Source::TimeStampCounter && self.smallest_cost > TRAPPED
    }
}

/// Ticks of an empty region above which its reads are no instructions of the processor any more.
pub const TRAPPED: i64 = 300;
/// Reads that cost and quantum are taken from.
const READS: usize = 4_096;

/// A clock that is ready.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    scale: Scale,
    info: Info,
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    opened_ns: u64,
}

impl Clock {
    /// Detect, calibrate for a tenth of a second, measure the clock's own cost. Where the processor's counter cannot be
    /// used it is the operating system's clock, and [`Info::fallback`] says why.
    ///
    /// Raises an error only where no clock at all runs forward, or where this process is forbidden to read the counter,
    /// which the system's clock reads, too.
    pub fn open() -> Result<Clock, Unusable> {
        Clock::calibrated(calibration::USUAL_NS)
    }

    /// The same with another time for calibration, in ns: its error falls with it.
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

    /// The beginning of a region. Where [`Info::fallback`] is None, [`crate::begin`] is the same without the question.
    #[inline(always)]
    pub fn begin(&self) -> Stamp {
        match self.info.source {
            Source::System => portable::begin(),
            _ => begin(),
        }
    }

    /// The end of a region.
    #[inline(always)]
    pub fn end(&self) -> Stamp {
        match self.info.source {
            Source::System => portable::end(),
            _ => end(),
        }
    }

    /// What is known of the clock.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Ticks to ns, and back-to-front differences to negative ns.
    #[inline]
    pub fn ns(&self, ticks: i64) -> i64 {
        self.scale.signed_ns(ticks)
    }

    /// The factor from ticks to ns, for loops that convert many.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// When it was opened, in ns of CLOCK_MONOTONIC_RAW.
    #[cfg(feature = "std")]
    pub(crate) fn opened_ns(&self) -> u64 {
        self.opened_ns
    }

    fn measure_itself(&mut self) {
        let mut costs = [0_i64; READS];
        let mut many = 0;
        // Twice as many tries as places, since a migration spoils one.
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
            // Delays of many lengths: what is always equally long is a multiple of too much.
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
        // What was read inside is not longer, what was read outside not shorter, within the bound of calibration.
        let slack = (outside as f64 * info.calibration.ppm / 1e6) as i64 + 2;
        let ns = clock.ns(ticks);
        assert!(
            ns + slack >= inside as i64 && ns - slack <= outside as i64,
            "{inside} {ns} {outside} {info:?}"
        );
    }

    #[test]
    fn it_knows_its_cost_and_says_why_where_it_falls_back() {
        let clock = Clock::calibrated(1_000_000).unwrap();
        let info = clock.info();
        assert!(info.smallest_cost >= 0 && info.median_cost >= info.smallest_cost, "{info:?}");
        assert_eq!(info.fallback.is_some(), info.source != Source::NATIVE);
        assert!(info.quantum.is_none_or(|step| step >= 1.0));
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn a_process_that_may_not_read_the_counter_gets_an_error_and_lives() {
        // In a child: the switch holds for the thread, and others of this process time things.
        // SAFETY: between fork and _exit the child makes system calls only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: forbids what is not done from here on.
            unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) };
            let refused = Clock::calibrated(1_000_000) == Err(Unusable::Forbidden);
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!refused)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child of above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }

    #[test]
    fn without_a_counter_it_is_the_system_s_clock() {
        let clock =
            Clock::of(Source::System, Some(Unusable::NoInstruction), Abilities::default(), 0).unwrap();
        assert_eq!(clock.ns(1_234), 1_234);
        assert!(clock.begin().until(clock.end()).ticks >= 0);
        assert!(!clock.info().trapped());
    }
}
