//! Waiting for two children that run at the same time, their output and further descriptors, in one poll.
//!
//! The times of their ends come from their spawners, which wait for them on their CPUs (`Spawner::ended_ns`):
//! this process is woken elsewhere, and may be busy with one end when the other comes.

use std::io;
use std::os::fd::AsRawFd;

use libc::pollfd;

use super::now_ns;
use super::poll::{poll, reading, NOTHING, OTHERS};
use super::spawner::Child;
use super::stream::Stream;

/// The reason why `watch_pair` returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairWoken {
    /// One of the children has ended, or both.
    Ended([bool; 2]),
    /// The deadline is over.
    Deadline,
    /// One of the other descriptors is ready.
    Other,
    /// There is output that is forwarded at once.
    Output,
}

/// Wait until one of these children ends, `deadline_ns` (CLOCK_MONOTONIC_RAW) is over, or one of `others` is
/// ready. Output is drained meanwhile; `forward`: return for it.
pub fn watch_pair(
    children: [Option<&Child>; 2],
    deadline_ns: Option<i64>,
    streams: &mut [&mut Stream; 4],
    others: &[pollfd],
    forward: bool,
) -> io::Result<PairWoken> {
    // Two children, four streams, and the others.
    let mut polls = [NOTHING; 6 + OTHERS];
    for (poll, child) in polls.iter_mut().zip(children) {
        *poll = child.map_or(NOTHING, |child| reading(child.pidfd.as_raw_fd()));
    }
    for (poll, stream) in polls[2..6].iter_mut().zip(streams.iter()) {
        *poll = if stream.paused { NOTHING } else { reading(stream.read_end()) };
    }
    for (poll, other) in polls[6..].iter_mut().zip(others) {
        *poll = *other;
    }
    loop {
        let left = deadline_ns.map(|deadline| (deadline - now_ns()).max(0));
        poll(&mut polls, left)?;
        let mut output = false;
        for (poll, stream) in polls[2..6].iter().zip(streams.iter_mut()) {
            if poll.revents != 0 {
                stream.drain();
                output = true;
            }
        }
        let ended = [polls[0].revents != 0, polls[1].revents != 0];
        if ended != [false; 2] {
            return Ok(PairWoken::Ended(ended));
        }
        if polls[6..].iter().any(|poll| poll.revents != 0) {
            return Ok(PairWoken::Other);
        }
        if deadline_ns.is_some_and(|deadline| now_ns() >= deadline) {
            return Ok(PairWoken::Deadline);
        }
        if forward && output {
            return Ok(PairWoken::Output);
        }
    }
}
