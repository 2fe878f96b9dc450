//! The messages of a load's processes to the one that watches them: a slot each, in shared memory.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicU8, AtomicUsize, Ordering};

const TEXT: usize = 400;

/// The slot of one process. All-zero is its state at the start.
#[repr(C)]
pub struct Slot {
    pid: AtomicI32,
    ready: AtomicBool,
    done: AtomicU64,
    length: AtomicUsize,
    text: [AtomicU8; TEXT],
}

impl Slot {
    /// Report that the load is up.
    pub fn ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Count work done, in the kind's unit.
    pub fn add(&self, amount: u64) {
        self.done.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub fn set_pid(&self, pid: libc::pid_t) {
        self.pid.store(pid, Ordering::Release);
    }

    /// Return the process's number; 0 before it was started.
    pub fn pid(&self) -> libc::pid_t {
        self.pid.load(Ordering::Acquire)
    }

    /// Store a sentence, cut if it is longer than a slot.
    pub fn set_message(&self, sentence: &str) {
        let most = TEXT.min(sentence.len());
        let end = (0..=most).rev().find(|at| sentence.is_char_boundary(*at)).unwrap_or(0);
        let bytes = &sentence.as_bytes()[..end];
        for (place, byte) in self.text.iter().zip(bytes) {
            place.store(*byte, Ordering::Relaxed);
        }
        self.length.store(bytes.len(), Ordering::Release);
    }

    /// Return the stored sentence; empty when there is none.
    pub fn message(&self) -> String {
        let length = self.length.load(Ordering::Acquire).min(TEXT);
        let bytes: Vec<u8> = self.text[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The slots of all processes of a load.
pub struct Board {
    slots: *const Slot,
    count: usize,
}

impl Board {
    /// Map memory that stays shared across fork.
    pub fn new(count: usize) -> io::Result<Self> {
        let (protection, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(ptr::null_mut(), Self::size(count), protection, kind, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { slots: at.cast_const().cast(), count })
    }

    fn size(count: usize) -> usize {
        count.max(1) * size_of::<Slot>()
    }

    pub fn slots(&self) -> &[Slot] {
        // SAFETY: the mapping is that large, lives as long as self, and holds only atomics, valid at all-zero.
        unsafe { std::slice::from_raw_parts(self.slots, self.count) }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: our own mapping; nothing borrows from it any more.
        unsafe { libc::munmap(self.slots.cast_mut().cast(), Self::size(self.count)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_between_characters() {
        let board = Board::new(2).unwrap();
        let [first, second] = board.slots() else { panic!() };
        first.set_message("é");
        second.set_message(&"é".repeat(TEXT));
        assert_eq!((first.message().as_str(), second.message().len()), ("é", TEXT));
        first.set_message(&format!("a{}", "é".repeat(TEXT)));
        assert_eq!(first.message().len(), TEXT - 1);
        assert!(!first.is_ready());
        first.ready();
        first.add(3);
        first.add(4);
        assert_eq!((first.is_ready(), first.done(), second.done()), (true, 7, 0));
    }
}
