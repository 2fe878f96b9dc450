//! What the kernel counted for a finished child: read before it is reaped, and while reaping it.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::types::Usage;

/// Exit code, or minus the number of the signal that ended it.
pub type Status = i32;

/// Time in ns that the leader waited on a run queue: second field of `/proc/PID/schedstat`
/// (Documentation/scheduler/sched-stats.rst). None where the kernel keeps none.
pub fn run_queue_wait_ns(pid: libc::pid_t) -> Option<i64> {
    let mut path = [0_u8; 40];
    let mut rest = &mut path[..];
    write!(rest, "/proc/{pid}/schedstat").ok()?;
    let unused = rest.len();
    let name = std::str::from_utf8(&path[..path.len() - unused]).ok()?;
    let mut text = [0_u8; 96];
    let length = File::open(name).ok()?.read(&mut text).ok()?;
    second_number(&text[..length])
}

fn second_number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Reap a finished child: how it ended, and what it and the descendants it waited for used.
pub fn reap(pid: libc::pid_t) -> io::Result<(Status, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both pointers are live.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: as above.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == pid {
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
        assert_eq!(second_number(b"824159 17 3\n"), Some(17));
        assert_eq!(second_number(b"824159 17 3 99 100\n"), Some(17));
        for bad in [&b""[..], b"5", b"5 x", b"\xff \xff"] {
            assert_eq!(second_number(bad), None);
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
        assert_eq!(run_queue_wait_ns(-5), None);
        assert!(reap(1).is_err());
    }
}
