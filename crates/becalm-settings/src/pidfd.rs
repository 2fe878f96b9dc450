//! Processes identified by a descriptor (pidfd_open(2)): a number may be given to another process later, a
//! descriptor never refers to that one.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Return a descriptor of a process, which becomes readable when the process has ended.
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: asks for a new descriptor, which is ours.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, pid, 0) {
            descriptor if descriptor < 0 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor as RawFd)),
        }
    }
}

/// Wait until a process has ended, at most `limit_ms`; return whether it has.
pub fn has_ended(process: &OwnedFd, limit_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one live pollfd.
    unsafe { libc::poll(&mut poll, 1, limit_ms) == 1 }
}

/// Send a process a signal; succeed if it has ended.
pub fn signal(process: &OwnedFd, number: i32) -> io::Result<()> {
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a live descriptor of a process; no information goes with the signal.
    match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), number, nothing, 0) } {
        0 => Ok(()),
        _ => Some(io::Error::last_os_error())
            .filter(|error| error.raw_os_error() != Some(libc::ESRCH))
            .map_or(Ok(()), Err),
    }
}
