//! A test whether fences really fence here, since on some processors a setting that user space cannot read
//! decides that.

use becalm_clock::Clock;
use serde::Serialize;

use super::chain;
use super::statistics::median;

/// The effect of fences on reads of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fences {
    /// The time of two independent chains with fences between them over that without: 2 if a fence delays
    /// what follows, 1 if it does not. None: not tried on this architecture.
    pub ratio: Option<f64>,
    /// The share of a chain of multiplications for which the timer's read at its end has waited.
    pub waited: f64,
    /// The share for which a bare read of the counter has waited.
    pub bare_waited: f64,
}

/// The ratio half-way between a fence that delays and one that does not.
const HOLDS: f64 = 1.5;
/// The smallest share of the chain for which a read has waited: one that saw less has not waited.
const WAITED: f64 = 0.8;

impl Fences {
    /// Return whether a fence delays what follows it.
    pub fn hold(&self) -> Option<bool> {
        self.ratio.map(|ratio| ratio >= HOLDS)
    }

    /// Return whether the timer's read waits for what precedes it.
    pub fn wait(&self) -> bool {
        self.waited >= WAITED
    }
}

/// The number of rounds, of which the median counts.
const ROUNDS: usize = 101;

/// Test fences with a clock. `cycle_ticks` is the ticks of one cycle of the core.
pub fn probe(clock: &Clock, cycle_ticks: f64) -> Fences {
    let read = || clock.end().ticks;
    match clock.info().fallback {
        None => probed(&read, &bare, cycle_ticks),
        // The counter cannot be read here: a read would end this process.
        Some(_) => probed(&read, &read, cycle_ticks),
    }
}

fn probed(read: &dyn Fn() -> u64, bare: &dyn Fn() -> u64, cycle_ticks: f64) -> Fences {
    let ticks = |work: &dyn Fn(), end: &dyn Fn() -> u64| {
        let from = read();
        work();
        (end() as i64).wrapping_sub(from as i64) as f64
    };
    let expected = 3.0 * chain::TURN as f64 * cycle_ticks;
    let share = |end: &dyn Fn() -> u64| {
        let rounds = (0..ROUNDS).map(|_| ticks(&|| chain::multiplications(1), end) / expected);
        median(&rounds.collect::<Vec<_>>())
    };
    let ratio = CHAINS.map(|[fenced, free]| {
        let rounds = (0..ROUNDS).map(|_| (ticks(&fenced, read), ticks(&free, read)));
        let (with, without): (Vec<_>, Vec<_>) = rounds.unzip();
        median(&with) / median(&without)
    });
    Fences { ratio, waited: share(read), bare_waited: share(bare) }
}

#[cfg(target_arch = "aarch64")]
use becalm_clock::instructions::aarch64::bare;
#[cfg(target_arch = "x86_64")]
use becalm_clock::instructions::x86_64::bare;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use becalm_clock::portable::now_ns as bare;

/// Define a function of an architecture's instructions: twenty multiplications of one chain, then of another,
/// a hundred times, with a fence after each twenty.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! chains {
    ($one:literal, $other:literal, $count:literal, $again:literal, $fence:literal) => {
        // SAFETY: arithmetic on registers of its own; fences change nothing.
        || unsafe {
            std::arch::asm!(
                "2:",
                ".rept 20", $one, ".endr", $fence,
                ".rept 20", $other, ".endr", $fence,
                $count, $again,
                turns = inout(reg) 100_u64 => _, one = inout(reg) 3_u64 => _, other = inout(reg) 3_u64 => _,
                factor = in(reg) 5_u64, options(nomem, nostack),
            );
        }
    };
}

/// Return the chains with fences and without; None: not known for this architecture.
#[cfg(target_arch = "x86_64")]
const CHAINS: Option<[fn(); 2]> = Some([
    chains!("imul {one}, {factor}", "imul {other}, {factor}", "dec {turns}", "jnz 2b", "lfence"),
    chains!("imul {one}, {factor}", "imul {other}, {factor}", "dec {turns}", "jnz 2b", ""),
]);
#[cfg(target_arch = "aarch64")]
const CHAINS: Option<[fn(); 2]> = Some([
    chains!(
        "mul {one}, {one}, {factor}",
        "mul {other}, {other}, {factor}",
        "subs {turns}, {turns}, #1",
        "b.ne 2b",
        "isb"
    ),
    chains!(
        "mul {one}, {one}, {factor}",
        "mul {other}, {other}, {factor}",
        "subs {turns}, {turns}, #1",
        "b.ne 2b",
        ""
    ),
]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CHAINS: Option<[fn(); 2]> = None;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_judged_by_ratio_and_wait() {
        let seen = |ratio, waited| Fences { ratio, waited, bare_waited: 0.1 };
        assert_eq!((seen(Some(2.1), 1.0).hold(), seen(Some(2.1), 1.0).wait()), (Some(true), true));
        assert_eq!((seen(Some(1.1), 0.3).hold(), seen(Some(1.1), 0.3).wait()), (Some(false), false));
        assert_eq!(seen(None, 1.0).hold(), None);
    }

    #[test]
    fn the_probe_gives_numbers() {
        // Which of them fail depends on the machine.
        let seen = probe(&Clock::calibrated(1_000_000).unwrap(), 1.0);
        assert!(
            seen.waited.is_finite()
                && seen.bare_waited.is_finite()
                && seen.ratio.is_none_or(|ratio| ratio > 0.0)
        );
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn no_counter_is_read_but_those_that_are_given() {
        // A processor without rdtscp ends a process that uses it; here, a process that may not read the
        // counter stands for that.
        // SAFETY: between fork and _exit the child calculates, allocates and leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) };
            let time = std::cell::Cell::new(0);
            let played = || time.replace(time.get() + 768);
            let seen = probed(&played, &played, 1.0);
            let right = Fences { ratio: Some(1.0), waited: 1.0, bare_waited: 1.0 };
            unsafe { libc::_exit(i32::from(seen != right)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child of above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }
}
