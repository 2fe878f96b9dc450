//! The kernel's counts for a finished child: some are read before it is reaped, the others while reaping it.

use std::fs::File;
use std::io::{self, Read, Write};

use super::clock_ns;
use crate::types::Usage;

/// The exit code, or minus the number of the signal that ended the process.
pub type Status = i32;

/// The time of the leader on CPUs and on run queues, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunQueue {
    pub exec_ns: i64,
    pub wait_ns: i64,
}

impl RunQueue {
    /// Subtract the times before the program's time began.
    pub fn since(self, begun: Self) -> Self {
        Self {
            exec_ns: (self.exec_ns - begun.exec_ns).max(0),
            wait_ns: (self.wait_ns - begun.wait_ns).max(0),
        }
    }
}

/// Return the first two fields of `/proc/PID/schedstat` (Documentation/scheduler/sched-stats.rst), which
/// count the leader only. None if the kernel does not count them.
pub fn run_queue(pid: libc::pid_t) -> Option<RunQueue> {
    let mut path = [0_u8; 40];
    let mut rest = &mut path[..];
    write!(rest, "/proc/{pid}/schedstat").ok()?;
    let unused = rest.len();
    let name = std::str::from_utf8(&path[..path.len() - unused]).ok()?;
    let mut text = [0_u8; 96];
    let length = File::open(name).ok()?.read(&mut text).ok()?;
    two_numbers(&text[..length])
}

/// Return how long the calling process has run and waited since it was cloned; the wait is 0 if the kernel
/// does not count it. Makes only system calls, since the caller may be a child that shares its parent's
/// memory.
pub fn own_run_queue() -> RunQueue {
    // The file has the time on CPUs up to the last tick; this clock has all of it.
    RunQueue { exec_ns: clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID), wait_ns: own_wait_ns() }
}

fn own_wait_ns() -> i64 {
    let mut text = [0_u8; 96];
    // SAFETY: a literal path, and a buffer of this length.
    let length = unsafe {
        let file = libc::open(c"/proc/self/schedstat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return 0;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    let text = usize::try_from(length).ok().and_then(|length| text.get(..length));
    text.and_then(two_numbers).map_or(0, |queue| queue.wait_ns)
}

/// The time that a thread has waited on run queues, and how often it has moved from one to a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    pub wait_ns: i64,
    pub count: u64,
}

/// Parse the last two fields of a schedstat file.
pub fn turns(text: &[u8]) -> Option<Turns> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace().skip(1);
    Some(Turns { wait_ns: words.next()?.parse().ok()?, count: words.next()?.parse().ok()? })
}

fn two_numbers(text: &[u8]) -> Option<RunQueue> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    Some(RunQueue { exec_ns: words.next()?.parse().ok()?, wait_ns: words.next()?.parse().ok()? })
}

/// Reap a finished child; return how it ended, and what it and the descendants that it waited for used.
pub fn reap(pid: libc::pid_t) -> io::Result<(Status, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both pointers are live.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // This includes a child that has not become its program: it is a clone child like the spawner, whose
        // end sends no signal.
        // SAFETY: as above.
        if unsafe { libc::wait4(pid, &mut status, libc::__WALL, &mut usage) } == pid {
            return Ok((decode(status), convert(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Return how a child that is not reaped yet ended; None if it has not ended.
pub fn status_of(pid: libc::pid_t) -> Option<Status> {
    // SAFETY: an all-zero siginfo_t is valid, and the pointer is live.
    let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG | libc::__WALL;
    let id = libc::id_t::try_from(pid).ok()?;
    // SAFETY: as above.
    let (found, status) = unsafe {
        let done = libc::waitid(libc::P_PID, id, &mut about, how) == 0;
        (done && about.si_pid() == pid, about.si_status())
    };
    let status = if about.si_code == libc::CLD_EXITED { status } else { -status };
    found.then_some(status)
}

/// Return the status word of wait(2) as exit code or minus signal.
pub fn decode(status: i32) -> Status {
    if libc::WIFSIGNALED(status) {
        -libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    }
}

fn convert(usage: &libc::rusage) -> Usage {
    let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss * 1024,
        minor_faults: usage.ru_minflt,
        major_faults: usage.ru_majflt,
        voluntary: usage.ru_nvcsw,
        involuntary: usage.ru_nivcsw,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_of_kernels_with_and_without_more_fields() {
        let known = Some(RunQueue { exec_ns: 824_159, wait_ns: 17 });
        assert_eq!(two_numbers(b"824159 17 3\n"), known);
        assert_eq!(two_numbers(b"824159 17 3 99 100\n"), known);
        let begun = RunQueue { exec_ns: 2, wait_ns: 10 };
        assert_eq!(RunQueue { exec_ns: 5, wait_ns: 17 }.since(begun), RunQueue { exec_ns: 3, wait_ns: 7 });
        assert_eq!(RunQueue { exec_ns: 1, wait_ns: 9 }.since(begun), RunQueue { exec_ns: 0, wait_ns: 0 });
        for bad in [&b""[..], b"5", b"5 x", b"\xff \xff"] {
            assert_eq!(two_numbers(bad), None);
        }
    }

    #[test]
    fn the_wait_of_a_process_equals_its_schedstat() {
        // The thread of a test is not the first thread of the process.
        let first = || run_queue(std::process::id() as libc::pid_t).map_or(0, |queue| queue.wait_ns);
        let (before, queue, after) = (first(), own_run_queue(), first());
        assert!((before..=after).contains(&queue.wait_ns), "{before} {queue:?} {after}");
        assert!(queue.exec_ns > 0);
    }

    #[test]
    fn a_status_word_is_a_code_or_a_signal() {
        assert_eq!(decode(7 << 8), 7);
        assert_eq!(decode(9), -9);
        assert_eq!(decode(11 | 0x80), -11);
    }

    #[test]
    fn nobody_waits_for_a_process_that_is_not() {
        assert_eq!(run_queue(-5), None);
        assert!(reap(1).is_err());
    }
}
