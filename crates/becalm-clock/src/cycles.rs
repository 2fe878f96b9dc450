//! The core's cycle counter, read by the process itself through the page of a perf event (perf_event_open(2)).
//!
//! The kernel says in that page whether user space may read the counter, which one it is at the moment, how wide, and
//! what to add. A sequence lock guards it: the kernel may move the event while we read. `CycleCounter::open` tries all
//! of that once, so that what cannot be read is a reason, not a fault.

use core::ptr::{self, NonNull};
use core::sync::atomic::{compiler_fence, Ordering};

use crate::Unusable;

/// The beginning of struct perf_event_attr (include/uapi/linux/perf_event.h), as of its fifth published size, which
/// every kernel takes.
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

/// PERF_TYPE_HARDWARE and PERF_COUNT_HW_CPU_CYCLES.
const HARDWARE: u32 = 0;
const CPU_CYCLES: u64 = 0;
/// `exclude_kernel` and `exclude_hv`: what needs no more than perf_event_paranoid = 2.
const USER_ONLY: u64 = 1 << 5 | 1 << 6;
/// PERF_FLAG_FD_CLOEXEC, which libc does not name everywhere.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// Armv8 (drivers/perf/arm_pmuv3.c): config1 bit 0 asks for 64 bits, bit 1 for access from user space.
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

/// `cap_user_rdpmc`, the third of the capability bits.
const USER_READ: u64 = 1 << 2;
/// The index at which arm64's kernel shows PMCCNTR_EL0 (its number 31, plus one).
#[cfg(target_arch = "aarch64")]
const ARM_CYCLE_COUNTER: u32 = 32;

/// An open event of cycles of this thread in user mode.
#[derive(Debug)]
pub struct CycleCounter {
    page: NonNull<Page>,
    length: usize,
    descriptor: libc::c_int,
}

impl CycleCounter {
    /// Open, map, and try it.
    pub fn open() -> Result<CycleCounter, Unusable> {
        let attributes = Attributes {
            kind: HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: CPU_CYCLES,
            flags: USER_ONLY,
            config1: if cfg!(target_arch = "aarch64") { ARM_USER_ACCESS } else { 0 },
            ..Attributes::default()
        };
        // SAFETY: the structure lives during the call and has the size that it names.
        let descriptor = unsafe {
            libc::syscall(libc::SYS_perf_event_open, ptr::from_ref(&attributes), 0, -1, -1, CLOSE_ON_EXEC)
        } as libc::c_int;
        if descriptor < 0 {
            return Err(Unusable::Refused(error_number()));
        }
        // SAFETY: a constant of the system.
        let length = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: a new mapping of the event's first page, to read.
        let page =
            unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0) };
        let mapped = (page != libc::MAP_FAILED).then(|| NonNull::new(page.cast::<Page>())).flatten();
        let Some(page) = mapped else {
            let number = error_number();
            // SAFETY: opened above.
            unsafe { libc::close(descriptor) };
            return Err(Unusable::Refused(number));
        };
        let counter = CycleCounter { page, length, descriptor };
        counter.read()?;
        Ok(counter)
    }

    /// The count now, with everything before it executed and nothing after it begun.
    ///
    /// Says why where the kernel does not let it be read at this moment: the event may be taken off the processor.
    #[inline(always)]
    pub fn read(&self) -> Result<u64, Unusable> {
        let page = self.page.as_ptr();
        loop {
            // SAFETY: the page is mapped as long as we live; the kernel writes it, hence volatile.
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

/// The counter of an index, as the processor returns it.
///
/// # Safety
/// The page must just have said that user space may read it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn raw(index: u32) -> Result<u64, Unusable> {
    Ok(crate::instructions::x86_64::counter(index - 1))
}

/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn raw(index: u32) -> Result<u64, Unusable> {
    match index {
        ARM_CYCLE_COUNTER => Ok(crate::instructions::aarch64::cycle_counter()),
        _ => Err(Unusable::UnknownCounter),
    }
}

/// # Safety
/// Reads nothing.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn raw(_index: u32) -> Result<u64, Unusable> {
    Err(Unusable::UnknownCounter)
}

fn error_number() -> i32 {
    // SAFETY: the thread's own.
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
    fn the_kernel_s_structures_have_their_places() {
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
                let before = counter.read().unwrap();
                let spent = (0..10_000_u64).fold(0, |sum, each| std::hint::black_box(sum + each));
                let cycles = counter.read().unwrap().wrapping_sub(before);
                assert!(spent > 0 && cycles > 1_000, "{cycles}");
            }
            Err(reason) => assert!(!reason.to_string().is_empty()),
        }
    }
}
