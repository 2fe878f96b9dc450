//! What the kernel counted for a finished child: read before it is reaped, and while reaping it.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::types::Usage;

/// Exit code, or minus the number of the signal that ended it.
pub type Status = i32;

/// Time of the leader on CPUs and on run queues, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunQueue {
    pub exec_ns: i64,
    pub wait_ns: i64,
}

/// The first two fields of `/proc/PID/schedstat` (Documentation/scheduler/sched-stats.rst), of the leader alone. None
/// where the kernel keeps none.
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

fn two_numbers(text: &[u8]) -> Option<RunQueue> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    Some(RunQueue { exec_ns: words.next()?.parse().ok()?, wait_ns: words.next()?.parse().ok()? })
}

/// Reap a finished child: how it ended, and what it and the descendants it waited for used.
pub fn reap(pid: libc::pid_t) -> io::Result<(Status, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both pointers are live.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // Also one that has not become its program: it belongs to the spawner's kind, which tells nobody of its end.
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

/// The status word of wait(2) as exit code or minus signal.
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
        for bad in [&b""[..], b"5", b"5 x", b"\xff \xff"] {
            assert_eq!(two_numbers(bad), None);
        }
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
