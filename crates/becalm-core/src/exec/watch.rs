//! Wait for a child, its time limit, its output, and whoever else wants attention, in one poll.

use std::io;
use std::os::fd::AsRawFd;

use libc::pollfd;

use super::now_ns;
use super::poll::{poll, reading, NOTHING, OTHERS};
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
