//! Wait for a child, its time limit, its output, and whoever else wants attention, in one poll.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use libc::pollfd;

use super::now_ns;
use super::spawner::Child;
use super::stream::Stream;

/// Why `watch` came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The child has ended; CLOCK_MONOTONIC_RAW at the wake-up, ns.
    Ended(i64),
    /// The time limit is over.
    Deadline,
    /// Something else that was waited for has come.
    Other,
    /// There is output that somebody forwards at once.
    Output,
}

/// Most of what else is waited for in one call.
const OTHERS: usize = 4;

/// To wait until a descriptor can be read, or has been closed at its other end.
pub fn reading(fd: RawFd) -> pollfd {
    pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// To wait until a descriptor can be written to.
pub fn writing(fd: RawFd) -> pollfd {
    pollfd { fd, events: libc::POLLOUT, revents: 0 }
}

/// To wait until a descriptor has been closed at its other end, whatever can still be read from it.
pub fn closing(fd: RawFd) -> pollfd {
    pollfd { fd, events: libc::POLLRDHUP, revents: 0 }
}

/// Not to wait for anything.
pub const NOTHING: pollfd = pollfd { fd: -1, events: 0, revents: 0 };

/// Wait until the child ends, `deadline_ns` (CLOCK_MONOTONIC_RAW) is over, or one of `others` has come.
/// Output is drained meanwhile; `forward` says whether to come back for it.
pub fn watch(
    child: &Child,
    deadline_ns: Option<i64>,
    streams: &mut [&mut Stream],
    others: &[pollfd],
    forward: bool,
) -> io::Result<Woken> {
    // The child, two streams, and the others.
    let mut polls = [NOTHING; 3 + OTHERS];
    polls[0] = reading(child.pidfd.as_raw_fd());
    for (poll, stream) in polls[1..3].iter_mut().zip(streams.iter()) {
        *poll = if stream.paused { NOTHING } else { reading(stream.read_end()) };
    }
    for (poll, other) in polls[3..].iter_mut().zip(others) {
        *poll = *other;
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

/// Whether one of these has come.
pub fn ready(what: &[pollfd]) -> io::Result<bool> {
    ready_within(what, 0)
}

/// Wait until one of these has come, or so many ns are over; whether one has.
pub fn ready_within(what: &[pollfd], timeout_ns: i64) -> io::Result<bool> {
    wait(what, Some(timeout_ns.max(0)))
}

/// Wait until one of these has come.
pub fn until_ready(what: &[pollfd]) -> io::Result<()> {
    wait(what, None).map(drop)
}

/// Whether a descriptor can be read now.
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

fn poll(polls: &mut [pollfd], timeout_ns: Option<i64>) -> io::Result<usize> {
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
