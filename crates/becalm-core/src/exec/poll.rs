//! Waiting for descriptors.

use std::io;
use std::os::fd::RawFd;

use libc::pollfd;

/// The largest number of further descriptors to wait for in one call.
pub const OTHERS: usize = 4;

/// Return a poll for a descriptor that can be read, or whose other end was closed.
pub fn reading(fd: RawFd) -> pollfd {
    pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Return a poll for a descriptor that can be written to.
pub fn writing(fd: RawFd) -> pollfd {
    pollfd { fd, events: libc::POLLOUT, revents: 0 }
}

/// Return a poll for a descriptor whose other end was closed, whatever can still be read from it.
pub fn closing(fd: RawFd) -> pollfd {
    pollfd { fd, events: libc::POLLRDHUP, revents: 0 }
}

/// A poll that never reports anything.
pub const NOTHING: pollfd = pollfd { fd: -1, events: 0, revents: 0 };

/// Return whether one of these polls is ready now.
pub fn ready(what: &[pollfd]) -> io::Result<bool> {
    ready_within(what, 0)
}

/// Wait until one of these polls is ready or `timeout_ns` has passed; return whether one is.
pub fn ready_within(what: &[pollfd], timeout_ns: i64) -> io::Result<bool> {
    wait(what, Some(timeout_ns.max(0)))
}

/// Wait until one of these polls is ready.
pub fn until_ready(what: &[pollfd]) -> io::Result<()> {
    wait(what, None).map(drop)
}

/// Return whether a descriptor can be read now.
pub fn readable(fd: RawFd) -> io::Result<bool> {
    ready(&[reading(fd)])
}

fn wait(what: &[pollfd], timeout_ns: Option<i64>) -> io::Result<bool> {
    let mut polls = [NOTHING; OTHERS];
    for (poll, each) in polls.iter_mut().zip(what) {
        *poll = *each;
    }
    Ok(poll(&mut polls, timeout_ns)? > 0)
}

/// Call poll(2) until something is ready or the time is over; return how many are.
pub fn poll(polls: &mut [pollfd], timeout_ns: Option<i64>) -> io::Result<usize> {
    let time =
        timeout_ns.map(|ns| libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 });
    let pointer = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    loop {
        // SAFETY: the slice and the timespec are live; no signal mask is passed.
        let ready = unsafe {
            libc::ppoll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, pointer, std::ptr::null())
        };
        if ready >= 0 {
            return Ok(ready as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
