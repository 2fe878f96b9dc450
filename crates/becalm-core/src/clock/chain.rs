//! Work of a known length: a chain of additions of which each waits for the one before, a cycle each.
//!
//! The operands are registers. An addition of a small constant takes no time on some processors (Golden Cove eliminates
//! it when registers are renamed: 0.27 cycles each, measured), so "add r, 1" measures nothing. That an addition takes one
//! cycle is checked in each evaluation, by a chain of multiplications, which take three on every current x86-64.
//!
//! 256 additions to a turn of the loop, 768 bytes of code on x86-64 and 1 KiB on Armv8: few branches, one page, far below the
//! first-level instruction cache. What is left over is done first, by a jump into the loop.

use std::arch::asm;

/// Additions to a turn.
pub const TURN: u64 = 256;

/// Do so many additions, one after the other.
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

/// Do so many turns of 256 multiplications, one after the other.
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

/// The time of a multiplication next to an addition on x86-64, and how far it may be off.
pub const RATIO: f64 = 3.0;
/// Largest distance from it.
pub const TOLERANCE: f64 = 0.03;

/// The self-check: what an addition takes, and how many times that a multiplication does.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Check {
    /// Nanoseconds of one addition: of one cycle of the core, if the check passed.
    pub addition_ns: f64,
    /// Time of a multiplication over that of an addition.
    pub ratio: f64,
}

impl Check {
    /// Whether additions are what they should be. On Armv8 a multiplication takes as long as its core wants, so there
    /// the ratio is reported and not judged.
    pub fn passed(&self) -> bool {
        !cfg!(target_arch = "x86_64") || (self.ratio - RATIO).abs() <= TOLERANCE
    }
}

/// Turns of the two lengths between which a slope is taken. Chains of only 4 and 16 turns gave 2.89 to 2.94 (measured).
const SHORT: u64 = 100;
const LONG: u64 = 200;

/// Check the chain with a clock in ns: the slope between two lengths, both thousands of steps of the clock long, taken in
/// turns with that of multiplications, since the core's clock moves within minutes; the median of so many rounds. Where
/// other load spoilt most of them, by the shortest of each work: what else runs only adds time.
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
        // A jump to a wrong place would not.
        for count in (0..=600).chain([1_023, 1_024, 65_535, 65_536]) {
            additions(count);
        }
        multiplications(1);
    }

    /// A clock that only the number of reads moves: additions of 1 ns, multiplications of so many, and a millisecond of
    /// other load each time so many reads have passed.
    fn played(ratio: f64, disturbed: u64) -> Check {
        let (time, read) = (Cell::new(0.0), Cell::new(0_u64));
        let clock = || {
            let turn = read.get();
            read.set(turn + 1);
            // Each piece of work lies between an even and an odd read.
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
        // Additions that are eliminated, in part or as on Golden Cove.
        assert_eq!(played(3.2, 56).passed(), !cfg!(target_arch = "x86_64"));
        assert_eq!(played(11.0, 56).passed(), !cfg!(target_arch = "x86_64"));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn load_in_most_rounds_does_not_hide_a_chain_and_makes_none() {
        // Of 21 rounds of eight reads, eleven and more are disturbed, and each work of some is not.
        let good = played(3.0, 10);
        assert!((good.addition_ns - 1.0).abs() < 1e-3 && (good.ratio - 3.0).abs() < 1e-3, "{good:?}");
        assert!(!played(3.2, 10).passed());
        // Where no round is spared, it is refused.
        assert!(!played(3.0, 8).passed());
    }
}
