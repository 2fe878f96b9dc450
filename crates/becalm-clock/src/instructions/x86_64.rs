//! x86-64: reads of the time stamp counter and performance counters, in program order.
//!
//! A bare `rdtsc` is not ordered with anything: it "may execute before all previous instructions have
//! executed" and later ones may begin before it (Intel SDM volume 2B, RDTSC). A timer needs the code before
//! the read to have finished when the counter is read, and the code after it not to have begun:
//!
//! - `rdtscp` waits "until all previous instructions have executed and all previous loads are globally visible", but
//!   "subsequent instructions may begin execution before the read operation is performed" (SDM volume 2B, RDTSCP; AMD64
//!   APM volume 3 says the same). So an `lfence` follows, which "does not execute until all prior instructions have
//!   completed locally, and no later instruction begins execution until LFENCE completes" (SDM volume 2A, LFENCE).
//!   On AMD that holds where LFENCE is dispatch serializing: CPUID 8000_0021h EAX bit 2, or MSR C001_1029 bit 1,
//!   which Linux sets.
//! - `rdpmc` is not a serializing instruction and not ordered (SDM volume 2B, RDPMC), so it has an `lfence`
//!   before it and one after it.
//! - `cpuid` is never used as a fence: hypervisors intercept it, at a microsecond or more per read.
//! - Retired stores may still be in the store buffer. An `mfence` before the read would wait for them; it is
//!   left to the caller, since it costs as much as the regions that are timed.
//!
//! `asm!` without `nomem` is a compiler barrier, too: the compiler moves no memory access across a read.

use core::arch::asm;

use crate::Stamp;

/// Read the counter at the beginning of a region: `rdtscp; lfence`.
#[inline(always)]
pub fn begin() -> Stamp {
    rdtscp_lfence()
}

/// Read the counter at the end of a region: `rdtscp; lfence`.
///
/// The fence belongs to the end as well: without it, the code after the region may take execution units from
/// the last instructions of the region.
#[inline(always)]
pub fn end() -> Stamp {
    rdtscp_lfence()
}

#[inline(always)]
fn rdtscp_lfence() -> Stamp {
    let (low, high, processor): (u32, u32, u32);
    // SAFETY: writes only the three named registers; `lfence` changes nothing.
    unsafe {
        asm!("rdtscp", "lfence", out("eax") low, out("edx") high, out("ecx") processor,
            options(nostack, preserves_flags));
    }
    Stamp { ticks: u64::from(high) << 32 | u64::from(low), processor }
}

/// Read the time stamp counter without ordering it with the surrounding code, for comparison.
#[inline(always)]
pub fn bare() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: writes only the two named registers.
    unsafe { asm!("rdtsc", out("eax") low, out("edx") high, options(nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

/// Read the time stamp counter between two fences: `lfence; rdtsc; lfence`, the other common sequence.
#[inline(always)]
pub fn fenced() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: as above; fences change nothing.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Read a performance counter: `lfence; rdpmc; lfence`. Return all 64 bits as the processor returns them.
///
/// # Safety
/// The kernel must allow `rdpmc` for this counter at this moment, otherwise it raises a general protection
/// fault (SIGSEGV); [`crate::cycles`] checks the page of the counter's event first.
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
        // Independent of what the machine does in between, as long as both reads are from one processor.
        for _ in 0..1_000 {
            let (from, to) = (begin(), end());
            let region = from.until(to);
            assert!(region.migrated || region.ticks >= 0, "{region:?}");
        }
    }

    #[test]
    fn all_reads_are_from_the_same_counter() {
        let before = begin();
        let between = [bare(), fenced()];
        let after = end();
        if before.processor == after.processor {
            assert!(between.iter().all(|ticks| (before.ticks..=after.ticks).contains(ticks)));
        }
    }
}
