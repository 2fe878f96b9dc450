//! x86-64: the time stamp counter and performance counters, in program order.
//!
//! A bare `rdtsc` is not ordered with anything: it "may execute before all previous instructions have executed" and
//! later ones may begin before it (Intel SDM volume 2B, RDTSC). What is wanted is that the code before has finished
//! when the counter is read and that the code after has not begun:
//!
//! - `rdtscp` waits "until all previous instructions have executed and all previous loads are globally visible", but
//!   "subsequent instructions may begin execution before the read operation is performed" (SDM volume 2B, RDTSCP; AMD64
//!   APM volume 3 says the same). So an `lfence` follows, which "does not execute until all prior instructions have
//!   completed locally, and no later instruction begins execution until LFENCE completes" (SDM volume 2A, LFENCE).
//!   On AMD that holds where LFENCE is dispatch serializing: CPUID 8000_0021h EAX bit 2, or MSR C001_1029 bit 1,
//!   which Linux sets.
//! - `rdpmc` is not a serializing instruction and not ordered (SDM volume 2B, RDPMC), so it has an `lfence` before it
//!   and one after it.
//! - Never `cpuid` as a fence: hypervisors intercept it, at a microsecond or more a read.
//! - Stores that are retired may still be in the store buffer. `mfence` in front would wait for them; it is not part
//!   of a read here, since it costs as much as the regions that are timed. Where stores matter, they are the caller's.
//!
//! `asm!` without `nomem` is a barrier for the compiler, too: it moves no access to memory across a read.

use core::arch::asm;

use crate::Stamp;

/// The counter at the beginning of a region: `rdtscp; lfence`.
#[inline(always)]
pub fn begin() -> Stamp {
    rdtscp_lfence()
}

/// The counter at the end of a region: `rdtscp; lfence`.
///
/// The fence belongs to the end as well: without it, what follows the region may take execution units from its last
/// instructions.
#[inline(always)]
pub fn end() -> Stamp {
    rdtscp_lfence()
}

#[inline(always)]
fn rdtscp_lfence() -> Stamp {
    let (low, high, processor): (u32, u32, u32);
    // SAFETY: reads a counter into the three registers that are named; `lfence` changes nothing.
    unsafe {
        asm!("rdtscp", "lfence", out("eax") low, out("edx") high, out("ecx") processor,
            options(nostack, preserves_flags));
    }
    Stamp { ticks: u64::from(high) << 32 | u64::from(low), processor }
}

/// The time stamp counter, not ordered with what stands before or behind it: for comparison.
#[inline(always)]
pub fn bare() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter into the two registers that are named.
    unsafe { asm!("rdtsc", out("eax") low, out("edx") high, options(nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

/// The time stamp counter between two fences: `lfence; rdtsc; lfence`, the other common spelling.
#[inline(always)]
pub fn fenced() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: as above; fences change nothing.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// A performance counter: `lfence; rdpmc; lfence`, all 64 bits as the processor returns them.
///
/// # Safety
/// The kernel must allow `rdpmc` for this counter at this moment, or it is a general protection fault (SIGSEGV);
/// [`crate::cycles`] asks the page of the counter's event first.
#[inline(always)]
pub unsafe fn counter(number: u32) -> u64 {
    let (low, high): (u32, u32);
    asm!("lfence", "rdpmc", "lfence", in("ecx") number, out("eax") low, out("edx") high,
        options(nostack, preserves_flags));
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_never_go_backwards_on_one_processor() {
        // Whatever the machine does between: as long as both reads are of one processor.
        for _ in 0..1_000 {
            let (from, to) = (begin(), end());
            let region = from.until(to);
            assert!(region.migrated || region.ticks >= 0, "{region:?}");
        }
    }

    #[test]
    fn all_reads_are_of_one_counter() {
        let before = begin();
        let between = [bare(), fenced()];
        let after = end();
        if before.processor == after.processor {
            assert!(between.iter().all(|ticks| (before.ticks..=after.ticks).contains(ticks)));
        }
    }
}
