//! Waiting for a child, its time limit, its output and further descriptors, in one poll.

use std::io;
use std::os::fd::AsRawFd;

use libc::pollfd;

use super::late::{End, Lateness};
use super::now_ns;
use super::poll::{poll, reading, NOTHING, OTHERS};
use super::spawner::Child;
use super::stream::Stream;

/// The reason why `watch` returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The child has ended.
    Ended(End),
    /// The time limit is over.
    Deadline,
    /// One of the other descriptors is ready.
    Other,
    /// There is output that is forwarded at once.
    Output,
}

/// Wait until the child ends, `deadline_ns` (CLOCK_MONOTONIC_RAW) is over, or one of `others` is ready.
/// Output is drained meanwhile; `forward`: return for it.
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
        let left = deadline_ns.map(|deadline| (deadline - now_ns()).max(0));
        let mark = late.mark();
        poll(&mut polls, left)?;
        let end_ns = now_ns();
        if polls[0].revents != 0 {
            let late_ns = if alone(&polls[1..], deadline_ns, end_ns) { late.since(mark) } else { 0 };
            let end = End { seen_ns: end_ns, late_ns };
            for (poll, stream) in polls[1..3].iter().zip(streams.iter_mut()) {
                if poll.revents != 0 {
                    stream.drain();
                }
            }
            return Ok(Woken::Ended(end));
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
        // The clock decides and not a poll that found nothing: if a program never stops writing there is no
        // such poll.
        if deadline_ns.is_some_and(|deadline| end_ns >= deadline) {
            return Ok(Woken::Deadline);
        }
        if forward && output {
            return Ok(Woken::Output);
        }
    }
}

/// Return whether only the child's end can have woken this process: anything else may have woken it earlier,
/// and the child may have gone on while this process waited for its turn.
fn alone(others: &[pollfd], deadline_ns: Option<i64>, at_ns: i64) -> bool {
    others.iter().all(|poll| poll.revents == 0) && deadline_ns.is_none_or(|deadline| at_ns < deadline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::process::{ChildStdin, Command, Stdio};

    const MS: i64 = 1_000_000;

    thread_local!(static INPUT: RefCell<Option<ChildStdin>> = const { RefCell::new(None) });

    /// Let the child go on, after the account was read for the first time.
    fn go_on() -> i64 {
        if let Some(mut input) = INPUT.take() {
            input.write_all(b"go\n").unwrap();
        }
        0
    }

    #[test]
    fn whatever_else_was_due_may_have_woken_it_before() {
        let output = pollfd { revents: libc::POLLIN, ..NOTHING };
        assert!(alone(&[NOTHING, NOTHING], None, 5));
        assert!(alone(&[NOTHING], Some(6), 5));
        assert!(!alone(&[NOTHING], Some(5), 5));
        assert!(!alone(&[NOTHING, output], None, 5));
    }

    #[test]
    fn lateness_is_read_from_the_account_at_the_end() {
        let path = std::env::temp_dir().join(format!("becalm-watch-{}", std::process::id()));
        fs::write(&path, "5 0 1\n").unwrap();
        let late = Lateness::of(File::open(&path).unwrap(), go_on);
        let asked_ns = now_ns();
        // The child writes the account of the process that waits for it, after that was read at the
        // beginning.
        let script = format!("read go; echo 5 {} 2 > {}", 100 * MS, path.display());
        let mut process = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        INPUT.set(process.stdin.take());
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
        let Woken::Ended(end) = woken else { panic!("{woken:?}") };
        assert_eq!(end.late_ns, 100 * MS);
        assert!((asked_ns..=seen_ns).contains(&end.seen_ns), "{asked_ns} {end:?} {seen_ns}");
    }
}
