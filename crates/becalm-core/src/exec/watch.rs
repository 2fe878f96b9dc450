//! Wait for a child, its time limit, its output, and whoever else wants attention, in one poll.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use super::child::Child;
use super::now_ns;
use super::stream::Stream;

/// Why `watch` came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The child has ended; CLOCK_MONOTONIC_RAW at the wake-up, ns.
    Ended(i64),
    /// The time limit is over.
    Deadline,
    /// One of the other descriptors is readable.
    Other,
    /// There is output that somebody forwards at once.
    Output,
}

/// Wait until the child ends, `deadline_ns` (CLOCK_MONOTONIC_RAW) is over, or one of `others` is readable.
/// Output is drained meanwhile; `forward` says whether to come back for it.
pub fn watch(
    child: &Child,
    deadline_ns: Option<i64>,
    streams: &mut [&mut Stream],
    others: &[RawFd],
    forward: bool,
) -> io::Result<Woken> {
    let entry = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let none = entry(-1);
    // At most: the child, two streams, the input and the signals.
    let mut polls = [none; 5];
    polls[0] = entry(child.pidfd.as_raw_fd());
    for (poll, stream) in polls[1..3].iter_mut().zip(streams.iter()) {
        *poll = entry(stream.read_end());
    }
    for (poll, other) in polls[3..].iter_mut().zip(others) {
        *poll = entry(*other);
    }
    loop {
        let left = deadline_ns.map(|deadline| (deadline - now_ns()).max(0));
        poll(&mut polls, left)?;
        let end_ns = now_ns();
        if polls[0].revents != 0 {
            for (poll, stream) in polls[1..3].iter().zip(streams.iter_mut()) {
                if poll.revents != 0 {
                    stream.drain();
                }
            }
            return Ok(Woken::Ended(end_ns));
        }
        let mut output = false;
        for (poll, stream) in polls[1..3].iter().zip(streams.iter_mut()) {
            if poll.revents != 0 {
                stream.drain();
                output = true;
            }
        }
        if polls[3..].iter().any(|poll| poll.revents != 0) {
            return Ok(Woken::Other);
        }
        // By the clock, not by a poll that found nothing: with a program that never stops writing there is none.
        if deadline_ns.is_some_and(|deadline| end_ns >= deadline) {
            return Ok(Woken::Deadline);
        }
        if forward && output {
            return Ok(Woken::Output);
        }
    }
}

/// Whether one of the descriptors is readable now.
pub fn readable(fds: &[RawFd]) -> io::Result<bool> {
    readable_within(fds, 0)
}

/// Wait until one of the descriptors is readable, or so many ns are over; whether one is.
pub fn readable_within(fds: &[RawFd], timeout_ns: i64) -> io::Result<bool> {
    let mut polls: [libc::pollfd; 4] = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 4];
    for (poll, fd) in polls.iter_mut().zip(fds) {
        poll.fd = *fd;
    }
    Ok(poll(&mut polls, Some(timeout_ns.max(0)))? > 0)
}

/// Wait until one of the descriptors is readable.
pub fn until_readable(fds: &[RawFd]) -> io::Result<()> {
    let mut polls: [libc::pollfd; 4] = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 4];
    for (poll, fd) in polls.iter_mut().zip(fds) {
        poll.fd = *fd;
    }
    poll(&mut polls, None).map(drop)
}

fn poll(polls: &mut [libc::pollfd], timeout_ns: Option<i64>) -> io::Result<usize> {
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
