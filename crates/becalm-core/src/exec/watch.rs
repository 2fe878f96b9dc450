//! Wait for a child, its time limit, its output, and whoever else wants attention, in one poll.

use std::io;
use std::os::fd::AsRawFd;

use libc::pollfd;

use super::late::Lateness;
use super::now_ns;
use super::poll::{poll, reading, NOTHING, OTHERS};
use super::spawner::Child;
use super::stream::Stream;

/// Why `watch` came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The child has ended; CLOCK_MONOTONIC_RAW then, ns, as far as is known how late this process saw it.
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
    late: &Lateness,
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
        let (begin_ns, mark) = (now_ns(), late.mark());
        let left = deadline_ns.map(|deadline| (deadline - begin_ns).max(0));
        poll(&mut polls, left)?;
        let end_ns = now_ns();
        if polls[0].revents != 0 {
            // Not before it was waited for.
            let ended_ns = (end_ns - late.since(mark)).max(begin_ns);
            for (poll, stream) in polls[1..3].iter().zip(streams.iter_mut()) {
                if poll.revents != 0 {
                    stream.drain();
                }
            }
            return Ok(Woken::Ended(ended_ns));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::process::Command;

    const MS: i64 = 1_000_000;

    /// The end of a program of 0.2 s that writes the account itself; when it was asked for, and when it was seen.
    fn ended(late_ns: i64) -> (i64, i64, i64) {
        let path = std::env::temp_dir().join(format!("becalm-watch-{}-{late_ns}", std::process::id()));
        fs::write(&path, "5 0 1\n").unwrap();
        let late = Lateness::of(File::open(&path).unwrap());
        let script = format!("sleep 0.2; echo 5 {late_ns} 2 > {}", path.display());
        let asked_ns = now_ns();
        let mut process = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let pid = process.id() as libc::pid_t;
        // SAFETY: a new descriptor, or -1.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
        assert!(pidfd >= 0);
        // SAFETY: the kernel has just given us this descriptor.
        let child = Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) }, asked_ns };
        let woken = watch(&child, None, &mut [], &[], false, &late).unwrap();
        let seen_ns = now_ns();
        process.wait().unwrap();
        fs::remove_file(&path).unwrap();
        let Woken::Ended(end_ns) = woken else { panic!("{woken:?}") };
        (asked_ns, end_ns, seen_ns)
    }

    #[test]
    fn an_end_is_when_it_was_and_not_when_this_process_ran_again() {
        let (asked_ns, end_ns, seen_ns) = ended(100 * MS);
        assert!(seen_ns - end_ns >= 100 * MS, "{seen_ns} - {end_ns}");
        assert!(end_ns - asked_ns >= 100 * MS, "{end_ns} - {asked_ns}");
    }

    #[test]
    fn it_is_not_before_it_was_waited_for() {
        let (asked_ns, end_ns, seen_ns) = ended(3_600_000 * MS);
        assert!((asked_ns..seen_ns).contains(&end_ns), "{asked_ns} {end_ns} {seen_ns}");
    }
}
