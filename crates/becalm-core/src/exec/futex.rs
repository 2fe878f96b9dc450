//! Waiting for a word to change in memory that processes share (futex(2)).

use std::ptr;
use std::sync::atomic::AtomicU32;

/// Wait until somebody changes the word from `value` and wakes us, or `timeout_ns` has passed (0: no limit).
pub fn sleep(word: &AtomicU32, value: u32, timeout_ns: i64) {
    let time = libc::timespec { tv_sec: timeout_ns / 1_000_000_000, tv_nsec: timeout_ns % 1_000_000_000 };
    let timeout = if timeout_ns == 0 { ptr::null() } else { ptr::from_ref(&time) };
    // SAFETY: the word and the time live through the call. Whatever it says, the word is looked at again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, timeout) };
}

/// Wake the process that sleeps until the word changes.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the word lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}
