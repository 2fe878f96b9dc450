//! System calls that several parts of `exec` share.

use std::io;

/// Return CLOCK_MONOTONIC_RAW in ns: never stepped, never slewed.
pub fn now_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// Return a clock of clock_gettime(2) in ns.
pub fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; both clocks exist on every kernel since 2.6.28.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Turn the -1 of a system call into its errno.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Have this process get a signal when its parent ends; return whether that has not ended already. A change of user
/// undoes it (prctl(2), PR_SET_PDEATHSIG).
pub fn end_with(parent: libc::pid_t, signal: libc::c_int) -> bool {
    // SAFETY: no pointers; neither call fails.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, signal);
        libc::getppid() == parent
    }
}
