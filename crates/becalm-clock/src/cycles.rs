//! The core's cycle counter, read in user space through the mapped page of a perf event (perf_event_open(2)).
//!
//! The page holds whether user space may read the counter, which counter it is at the moment, its width, and
//! the offset to add. A sequence lock guards the page, since the kernel may move the event during a read.
//! `CycleCounter::open` reads once, so that a counter that cannot be read is an error with its reason and not
//! a fault.

use core::ptr::{self, NonNull};
use core::sync::atomic::{compiler_fence, Ordering};

use crate::Unusable;

/// The beginning of struct perf_event_attr (include/uapi/linux/perf_event.h) in its fifth published size,
/// which every supported kernel accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    rest: [u64; 5],
}

/// The event type PERF_TYPE_HARDWARE.
const HARDWARE: u32 = 0;
/// The event PERF_COUNT_HW_CPU_CYCLES.
const CPU_CYCLES: u64 = 0;
/// The flags `exclude_kernel` and `exclude_hv`, with which perf_event_paranoid = 2 is enough.
const USER_ONLY: u64 = 1 << 5 | 1 << 6;
/// The flag PERF_FLAG_FD_CLOEXEC, which libc does not define on every target.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// The bits of config1 on Armv8 (drivers/perf/arm_pmuv3.c): bit 0 asks for 64 bits, bit 1 for access from
/// user space.
const ARM_USER_ACCESS: u64 = 0b11;

/// The beginning of struct perf_event_mmap_page.
#[repr(C)]
struct Page {
    version: u32,
    compat_version: u32,
    lock: u32,
    index: u32,
    offset: i64,
    time_enabled: u64,
    time_running: u64,
    capabilities: u64,
    width: u16,
}

/// The bit `cap_user_rdpmc`, the third of the capability bits.
const USER_READ: u64 = 1 << 2;
/// The index under which the arm64 kernel presents PMCCNTR_EL0 (its number 31, plus one).
#[cfg(target_arch = "aarch64")]
const ARM_CYCLE_COUNTER: u32 = 32;

/// An open perf event that counts the cycles of this thread in user mode.
#[derive(Debug)]
pub struct CycleCounter {
    page: NonNull<Page>,
    length: usize,
    descriptor: libc::c_int,
}

impl CycleCounter {
    /// Open and map the event, and read it once.
    ///
    /// # Errors
    /// Returns the reason if the kernel refuses the event or user space cannot read it.
    pub fn open() -> Result<CycleCounter, Unusable> {
        let attributes = Attributes {
            kind: HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: CPU_CYCLES,
            flags: USER_ONLY,
            config1: if cfg!(target_arch = "aarch64") { ARM_USER_ACCESS } else { 0 },
            ..Attributes::default()
        };
        // SAFETY: the structure outlives the call and has the size that it states.
        let descriptor = unsafe {
            libc::syscall(libc::SYS_perf_event_open, ptr::from_ref(&attributes), 0, -1, -1, CLOSE_ON_EXEC)
        } as libc::c_int;
        if descriptor < 0 {
            return Err(Unusable::Refused(error_number()));
        }
        // SAFETY: sysconf only returns a constant.
        let length = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: a new read-only mapping of the event's first page.
        let page =
            unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0) };
        let mapped = (page != libc::MAP_FAILED).then(|| NonNull::new(page.cast::<Page>())).flatten();
        let Some(page) = mapped else {
            let number = error_number();
            // SAFETY: the descriptor was opened above.
            unsafe { libc::close(descriptor) };
            return Err(Unusable::Refused(number));
        };
        let counter = CycleCounter { page, length, descriptor };
        counter.read()?;
        Ok(counter)
    }

    /// Read the count, after everything before the call has executed and before anything after it begins.
    ///
    /// # Errors
    /// Returns the reason if the counter cannot be read at this moment: the kernel may have taken the event
    /// off the processor.
    #[inline(always)]
    pub fn read(&self) -> Result<u64, Unusable> {
        let page = self.page.as_ptr();
        loop {
            // SAFETY: the page stays mapped while `self` lives; reads are volatile because the kernel writes
            // to it.
            unsafe {
                let lock = ptr::read_volatile(&raw const (*page).lock);
                compiler_fence(Ordering::Acquire);
                let index = ptr::read_volatile(&raw const (*page).index);
                let offset = ptr::read_volatile(&raw const (*page).offset);
                if ptr::read_volatile(&raw const (*page).capabilities) & USER_READ == 0 {
                    return Err(Unusable::NotForUserSpace);
                }
                if index == 0 {
                    return Err(Unusable::NotScheduled);
                }
                let raw = raw(index)?;
                let shift = 64_u32.saturating_sub(u32::from(ptr::read_volatile(&raw const (*page).width)));
                compiler_fence(Ordering::Acquire);
                if ptr::read_volatile(&raw const (*page).lock) == lock {
                    // The counter is signed and narrower than 64 bits.
                    let count = ((raw << shift) as i64) >> shift;
                    return Ok(offset.wrapping_add(count) as u64);
                }
            }
        }
    }
}

/// Return the counter with this index, as the processor returns it.
///
/// # Safety
/// The page must have just stated that user space may read the counter.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn raw(index: u32) -> Result<u64, Unusable> {
    Ok(crate::instructions::x86_64::counter(index - 1))
}

/// Return the counter with this index, as the processor returns it.
///
/// # Safety
/// The page must have just stated that user space may read the counter.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn raw(index: u32) -> Result<u64, Unusable> {
    match index {
        ARM_CYCLE_COUNTER => Ok(crate::instructions::aarch64::cycle_counter()),
        _ => Err(Unusable::UnknownCounter),
    }
}

/// Return an error: no counter can be read on this architecture.
///
/// # Safety
/// Always safe: it reads nothing.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn raw(_index: u32) -> Result<u64, Unusable> {
    Err(Unusable::UnknownCounter)
}

fn error_number() -> i32 {
    // SAFETY: errno belongs to the calling thread.
    unsafe { *libc::__errno_location() }
}

impl Drop for CycleCounter {
    fn drop(&mut self) {
        // SAFETY: mapped and opened by `open`, and not used after this.
        unsafe {
            libc::munmap(self.page.as_ptr().cast(), self.length);
            libc::close(self.descriptor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_structures_have_their_offsets() {
        assert_eq!(size_of::<Attributes>(), 112);
        assert_eq!(core::mem::offset_of!(Attributes, config1), 56);
        assert_eq!(core::mem::offset_of!(Page, index), 12);
        assert_eq!(core::mem::offset_of!(Page, capabilities), 40);
        assert_eq!(core::mem::offset_of!(Page, width), 48);
    }

    #[test]
    fn cycles_are_counted_or_there_is_a_reason() {
        match CycleCounter::open() {
            Ok(counter) => {
                let before = counter.read();
                let spent = (0..10_000_u64).fold(0, |sum, each| std::hint::black_box(sum + each));
                match (before, counter.read()) {
                    (Ok(before), Ok(after)) => {
                        assert!(spent > 0 && after.wrapping_sub(before) > 1_000, "{before}, {after}");
                    }
                    // The thread was moved to a core of another kind, or others have the counter.
                    (Err(reason), _) | (_, Err(reason)) => assert!(!reason.to_string().is_empty()),
                }
            }
            Err(reason) => assert!(!reason.to_string().is_empty()),
        }
    }
}
