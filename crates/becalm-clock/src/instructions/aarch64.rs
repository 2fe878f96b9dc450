//! Armv8-A: reads of the generic timer and the cycle counter, in program order.
//!
//! A read of CNTVCT_EL0 "can occur speculatively and out of order relative to other instructions executed on the same
//! PE" (Arm ARM DDI 0487, the section on the virtual counter), and so can one of PMCCNTR_EL0. An `isb` before
//! the read waits until earlier instructions have executed, and "flushes the pipeline" so that later ones are
//! fetched after it; the second `isb` does the same for what follows the read. (With FEAT_ECV, CNTVCTSS_EL0
//! is a read that needs no `isb` before it; it is not used here, since the two sequences would then not be
//! the same clock.)
//!
//! Loads and stores may still be in flight when an `isb` completes; a `dsb` before it would wait for them. As
//! on x86-64, the caller adds one where that matters.

use core::arch::asm;

use crate::Stamp;

/// Read the counter at the beginning of a region: `isb; mrs cntvct_el0; isb`.
#[inline(always)]
pub fn begin() -> Stamp {
    Stamp { ticks: fenced(), processor: 0 }
}

/// Read the counter at the end of a region: `isb; mrs cntvct_el0; isb`.
#[inline(always)]
pub fn end() -> Stamp {
    Stamp { ticks: fenced(), processor: 0 }
}

/// Read the virtual counter between two barriers.
#[inline(always)]
pub fn fenced() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read this counter (CNTKCTL_EL1.EL0VCTEN); barriers change nothing.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags)) };
    ticks
}

/// Read the virtual counter without ordering it with the surrounding code, for comparison.
#[inline(always)]
pub fn bare() -> u64 {
    let ticks: u64;
    // SAFETY: as above.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
    ticks
}

/// Return the frequency that firmware announces for the counter, in Hz. It may be wrong; calibration
/// compares.
#[inline]
pub fn announced_hz() -> u64 {
    let hz: u64;
    // SAFETY: the register is readable wherever the counter is.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack, preserves_flags)) };
    hz
}

/// Read the cycle counter: `isb; mrs pmccntr_el0; isb`.
///
/// # Safety
/// The kernel must allow user space to read it at this moment, otherwise the instruction is illegal (SIGILL);
/// [`crate::cycles`] checks the page of the counter's event first.
#[inline(always)]
pub unsafe fn cycle_counter() -> u64 {
    let ticks: u64;
    asm!("isb", "mrs {}, pmccntr_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_never_go_backwards() {
        for _ in 0..1_000 {
            assert!(begin().until(end()).ticks >= 0);
        }
        assert!(announced_hz() > 0 && bare() <= fenced());
    }
}
