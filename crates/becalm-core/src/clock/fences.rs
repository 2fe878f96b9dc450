//! Do fences really fence here? Tried, since on some processors a setting that user space cannot read decides it.

use serde::Serialize;

use super::chain;
use super::statistics::median;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fences {
    /// Time of two independent chains with fences between them over that without: 2 where a fence holds back what
    /// follows, 1 where it does not. None: not tried on this architecture.
    pub ratio: Option<f64>,
    /// The share of a chain of multiplications that the timer's read at its end has waited for.
    pub waited: f64,
    /// The same of a bare read of the counter.
    pub bare_waited: f64,
}

/// Half-way between holding and not.
const HOLDS: f64 = 1.5;
/// A read that saw less than this of the chain before it has not waited.
const WAITED: f64 = 0.8;

impl Fences {
    /// Whether a fence holds back what follows it.
    pub fn hold(&self) -> Option<bool> {
        self.ratio.map(|ratio| ratio >= HOLDS)
    }

    /// Whether the timer's read waits for what stands before it.
    pub fn wait(&self) -> bool {
        self.waited >= WAITED
    }
}

/// Rounds of which the median counts.
const ROUNDS: usize = 101;

/// Try it. `cycle_ticks`: ticks of the counter to one cycle of the core.
pub fn probe(cycle_ticks: f64) -> Fences {
    let expected = 3.0 * chain::TURN as f64 * cycle_ticks;
    let share = |end: &dyn Fn() -> u64| {
        let rounds = (0..ROUNDS).map(|_| {
            let from = becalm_clock::begin().ticks;
            chain::multiplications(1);
            (end() as i64).wrapping_sub(from as i64) as f64 / expected
        });
        median(&rounds.collect::<Vec<_>>())
    };
    Fences { ratio: ratio(), waited: share(&|| becalm_clock::end().ticks), bare_waited: share(&bare) }
}

#[cfg(target_arch = "x86_64")]
fn bare() -> u64 {
    becalm_clock::instructions::x86_64::bare()
}

#[cfg(target_arch = "aarch64")]
fn bare() -> u64 {
    becalm_clock::instructions::aarch64::bare()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn bare() -> u64 {
    becalm_clock::end().ticks
}

/// Twenty multiplications of one chain, then of another, so many times: with a fence after each, or without.
#[cfg(target_arch = "x86_64")]
macro_rules! chains {
    ($fence:literal) => {{
        let before = becalm_clock::begin().ticks;
        // SAFETY: arithmetic on registers of its own; fences change nothing.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept 20", "imul {one}, {factor}", ".endr", $fence,
                ".rept 20", "imul {other}, {factor}", ".endr", $fence,
                "dec {turns}", "jnz 2b",
                turns = inout(reg) 100_u64 => _, one = inout(reg) 3_u64 => _, other = inout(reg) 3_u64 => _,
                factor = in(reg) 5_u64, options(nomem, nostack),
            );
        }
        (becalm_clock::end().ticks as i64).wrapping_sub(before as i64) as f64
    }};
}

#[cfg(target_arch = "aarch64")]
macro_rules! chains {
    ($fence:literal) => {{
        let before = becalm_clock::begin().ticks;
        // SAFETY: arithmetic on registers of its own; barriers change nothing.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept 20", "mul {one}, {one}, {factor}", ".endr", $fence,
                ".rept 20", "mul {other}, {other}, {factor}", ".endr", $fence,
                "subs {turns}, {turns}, #1", "b.ne 2b",
                turns = inout(reg) 100_u64 => _, one = inout(reg) 3_u64 => _, other = inout(reg) 3_u64 => _,
                factor = in(reg) 5_u64, options(nomem, nostack),
            );
        }
        (becalm_clock::end().ticks as i64).wrapping_sub(before as i64) as f64
    }};
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn ratio() -> Option<f64> {
    let (mut with, mut without) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        with.push(fenced_chains());
        without.push(chains!(""));
    }
    Some(median(&with) / median(&without))
}

#[cfg(target_arch = "x86_64")]
fn fenced_chains() -> f64 {
    chains!("lfence")
}

#[cfg(target_arch = "aarch64")]
fn fenced_chains() -> f64 {
    chains!("isb")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ratio() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_what_was_seen() {
        let seen = |ratio, waited| Fences { ratio, waited, bare_waited: 0.1 };
        assert_eq!((seen(Some(2.1), 1.0).hold(), seen(Some(2.1), 1.0).wait()), (Some(true), true));
        assert_eq!((seen(Some(1.1), 0.3).hold(), seen(Some(1.1), 0.3).wait()), (Some(false), false));
        assert_eq!(seen(None, 1.0).hold(), None);
    }

    #[test]
    fn the_probe_gives_numbers() {
        // Which ones is the machine's affair.
        let seen = probe(1.0);
        assert!(
            seen.waited.is_finite()
                && seen.bare_waited.is_finite()
                && seen.ratio.is_none_or(|ratio| ratio > 0.0)
        );
    }
}
