//! Work of a known length: a chain of additions, each of which waits for the one before and takes a cycle.
//!
//! The operands are registers. An addition of a small constant takes no time on some processors (Golden Cove
//! eliminates it when registers are renamed: 0.27 cycles each, measured), so "add r, 1" measures nothing.
//! Each evaluation checks that an addition takes one cycle, by a chain of multiplications, which take three
//! on every current x86-64.
//!
//! A turn of the loop has 256 additions, 768 bytes of code on x86-64 and 1 KiB on Armv8: few branches, one
//! page, far below the first-level instruction cache. The remainder is done first, by a jump into the loop.

use std::arch::asm;

/// The additions in a turn.
pub const TURN: u64 = 256;

/// Do a number of additions, one after the other.
#[inline(never)]
pub fn additions(count: u64) {
    run(count % TURN, count / TURN + 1);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn run(rest: u64, turns: u64) {
    // SAFETY: arithmetic on registers of its own. An addition of two of them is three bytes long, whichever they are,
    // so the jump arrives at one of them or at the end of the loop's body.
    unsafe {
        asm!(
            "lea {entry}, [rip + 3f]",
            "lea {rest}, [{rest} + 2 * {rest}]",
            "sub {entry}, {rest}",
            "jmp {entry}",
            ".p2align 6",
            "2:",
            ".rept 256",
            "add {sum}, {one}",
            ".endr",
            "3:",
            "dec {turns}",
            "jnz 2b",
            entry = out(reg) _,
            rest = inout(reg) rest => _,
            turns = inout(reg) turns => _,
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn run(rest: u64, turns: u64) {
    // SAFETY: arithmetic on registers of its own; every instruction is four bytes long.
    unsafe {
        asm!(
            "adr {entry}, 3f",
            "sub {entry}, {entry}, {rest}, lsl #2",
            "br {entry}",
            ".p2align 6",
            "2:",
            ".rept 256",
            "add {sum}, {sum}, {one}",
            ".endr",
            "3:",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            entry = out(reg) _,
            rest = in(reg) rest,
            turns = inout(reg) turns => _,
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn run(rest: u64, turns: u64) {
    let count = rest + (turns - 1) * TURN;
    std::hint::black_box((0..count).fold(0_u64, |sum, _| std::hint::black_box(sum.wrapping_add(1))));
}

/// Do a number of turns of 256 multiplications, one after the other.
#[inline(never)]
pub fn multiplications(turns: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: arithmetic on registers of its own.
    unsafe {
        asm!(
            ".p2align 6", "2:", ".rept 256", "imul {product}, {factor}", ".endr", "dec {turns}", "jnz 2b",
            turns = inout(reg) turns => _, product = inout(reg) 3_u64 => _, factor = in(reg) 5_u64,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: arithmetic on registers of its own.
    unsafe {
        asm!(
            ".p2align 6", "2:", ".rept 256", "mul {product}, {product}, {factor}", ".endr",
            "subs {turns}, {turns}, #1", "b.ne 2b",
            turns = inout(reg) turns => _, product = inout(reg) 3_u64 => _, factor = in(reg) 5_u64,
            options(nomem, nostack),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(
        (0..turns * TURN).fold(3_u64, |product, _| std::hint::black_box(product.wrapping_mul(5))),
    );
}

/// The time of a multiplication over that of an addition on x86-64.
pub const RATIO: f64 = 3.0;
/// The largest distance from it.
pub const TOLERANCE: f64 = 0.03;

/// The self-check: the time of an addition, and of a multiplication relative to it.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Check {
    /// The nanoseconds of one addition: of one cycle of the core, if the check passed.
    pub addition_ns: f64,
    /// The time of a multiplication over that of an addition.
    pub ratio: f64,
}

impl Check {
    /// Return whether additions are what they should be. On Armv8 the time of a multiplication depends on the
    /// core, so there the ratio is reported and not judged.
    pub fn passed(&self) -> bool {
        !cfg!(target_arch = "x86_64") || (self.ratio - RATIO).abs() <= TOLERANCE
    }
}

/// The turns of the two lengths between which a slope is taken. Chains of only 4 and 16 turns gave 2.89 to
/// 2.94 (measured).
const SHORT: u64 = 100;
const LONG: u64 = 200;

/// Check the chain with a clock in ns: the slope between two lengths, both thousands of steps of the clock
/// long, measured in turns with that of multiplications, since the core's clock moves within minutes; the
/// median of the rounds counts. If other load spoilt most of them, the shortest time of each work counts:
/// other programs only add time.
pub fn check(clock_ns: impl Fn() -> u64, rounds: usize) -> Check {
    let time = |work: &dyn Fn()| {
        let before = clock_ns();
        work();
        (clock_ns() - before) as f64
    };
    let mut additions_ns = Vec::with_capacity(rounds);
    let mut ratios = Vec::with_capacity(rounds);
    let mut least = [f64::INFINITY; 4];
    for _ in 0..rounds {
        let round = [
            time(&|| additions(SHORT * TURN)),
            time(&|| additions(LONG * TURN)),
            time(&|| multiplications(SHORT)),
            time(&|| multiplications(LONG)),
        ];
        least = std::array::from_fn(|work| least[work].min(round[work]));
        let found = slopes(round);
        additions_ns.push(found.addition_ns);
        ratios.push(found.ratio);
    }
    use super::statistics::median;
    let usual = Check { addition_ns: median(&additions_ns), ratio: median(&ratios) };
    let undisturbed = slopes(least);
    if !usual.passed() && undisturbed.passed() {
        return undisturbed;
    }
    usual
}

/// Compare the times of short and long additions, and of short and long multiplications, in ns.
fn slopes([short, long, short_product, long_product]: [f64; 4]) -> Check {
    let step = (LONG - SHORT) as f64 * TURN as f64;
    let addition_ns = (long - short) / step;
    Check { addition_ns, ratio: (long_product - short_product) / step / addition_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn any_count_returns() {
        // A jump to a wrong place would not return.
        for count in (0..=600).chain([1_023, 1_024, 65_535, 65_536]) {
            additions(count);
        }
        multiplications(1);
    }

    /// Check the chain with a clock that advances only by being read: additions of 1 ns, multiplications of
    /// `ratio`, and a millisecond of other load after each `disturbed` reads.
    fn played(ratio: f64, disturbed: u64) -> Check {
        let (time, read) = (Cell::new(0.0), Cell::new(0_u64));
        let clock = || {
            let turn = read.get();
            read.set(turn + 1);
            // Each piece of work is between an even and an odd read.
            let passed = match turn % 8 {
                1 => 1.0 * (SHORT * TURN) as f64,
                3 => 1.0 * (LONG * TURN) as f64,
                5 => ratio * (SHORT * TURN) as f64,
                7 => ratio * (LONG * TURN) as f64,
                _ => 20.0,
            };
            let load = if turn % disturbed == 7 { 1e6 } else { 0.0 };
            time.set(time.get() + passed + load);
            time.get() as u64
        };
        check(clock, 21)
    }

    #[test]
    fn the_slope_is_found_and_a_wrong_one_refused() {
        let good = played(3.0, 56);
        assert!((good.addition_ns - 1.0).abs() < 1e-3 && (good.ratio - 3.0).abs() < 1e-3, "{good:?}");
        assert!(good.passed());
        // The additions are eliminated, in part or as on Golden Cove.
        assert_eq!(played(3.2, 56).passed(), !cfg!(target_arch = "x86_64"));
        assert_eq!(played(11.0, 56).passed(), !cfg!(target_arch = "x86_64"));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn load_in_most_rounds_does_not_hide_a_chain_and_makes_none() {
        // Of 21 rounds of eight reads, eleven and more are disturbed, but each work is undisturbed in some.
        let good = played(3.0, 10);
        assert!((good.addition_ns - 1.0).abs() < 1e-3 && (good.ratio - 3.0).abs() < 1e-3, "{good:?}");
        assert!(!played(3.2, 10).passed());
        // If no round is spared, the check is refused.
        assert!(!played(3.0, 8).passed());
    }
}
