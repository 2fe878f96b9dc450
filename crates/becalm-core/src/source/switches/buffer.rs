//! The memory to which the kernel writes the records of one CPU (perf_event_open(2), "MMAP layout").
//!
//! It is one page of heads and tails, then a ring of a power of two of pages. The kernel advances the head
//! and never overwrites what was not read: records for which there is no room are counted and reported by
//! PERF_RECORD_LOST.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of the ring: 2,000 switches per second take half a second to fill a quarter of it.
pub const RING_BYTES: usize = 512 << 10;

/// The offset of data_head and data_tail in struct perf_event_mmap_page.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

const HEADER: usize = 8;

/// A mapped ring.
pub struct Buffer {
    start: NonNull<u8>,
    page: usize,
    /// A record that crosses the end of the ring, put together.
    whole: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone, and moves with it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Map the ring of an event.
    pub fn map(fd: RawFd) -> io::Result<Self> {
        // SAFETY: cannot fail for this name.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping wherever the kernel likes; the result is checked.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), page + RING_BYTES, protection, libc::MAP_SHARED, fd, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, page, whole: Vec::new() })
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: within the first page, aligned, and shared with the kernel, which uses it likewise.
        unsafe { &*self.start.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// Read all that is there: type, misc and body of each record, in order.
    pub fn take(&mut self, mut each: impl FnMut(u32, u16, &[u8])) {
        let head = self.word(HEAD).load(Ordering::Acquire);
        let mut tail = self.word(TAIL).load(Ordering::Relaxed);
        while head.wrapping_sub(tail) >= HEADER as u64 {
            let mut header = [0; HEADER];
            self.copy(tail, &mut header);
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let misc = u16::from_ne_bytes([header[4], header[5]]);
            let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if size < HEADER || size as u64 > head.wrapping_sub(tail) {
                // The kernel does not write such a size: nothing after it can be found.
                tail = head;
                break;
            }
            let mut whole = std::mem::take(&mut self.whole);
            whole.resize(size - HEADER, 0);
            self.copy(tail + HEADER as u64, &mut whole);
            each(kind, misc, &whole);
            self.whole = whole;
            tail += size as u64;
        }
        self.word(TAIL).store(tail, Ordering::Release);
    }

    /// Copy from a position of the ring, across its end if necessary.
    fn copy(&self, position: u64, into: &mut [u8]) {
        let from = (position % RING_BYTES as u64) as usize;
        let first = into.len().min(RING_BYTES - from);
        // SAFETY: both parts lie within the ring, whose bytes between tail and head the kernel does not touch.
        unsafe {
            let ring = self.start.as_ptr().add(self.page);
            std::ptr::copy_nonoverlapping(ring.add(from), into.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(ring, into.as_mut_ptr().add(first), into.len() - first);
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, with this length.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.page + RING_BYTES) };
    }
}
