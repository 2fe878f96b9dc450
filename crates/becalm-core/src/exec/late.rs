//! The delay with which a process notices an event that it waits for.
//!
//! Next to a load a process is woken at once and then waits for its turn on a CPU: for milliseconds, if other
//! processes have just begun their turns. That time is not part of what it measures, and the kernel counts it
//! (`/proc/PID/schedstat`, run_delay in kernel/sched/stats.h: from being put on a run queue to being run).
//! `watch` marks the account before it sleeps and returns what was added to it afterwards (`End`); a caller
//! that knows more about what ended limits how early or late the end was.

use std::fs::File;
use std::mem;
use std::os::unix::fs::FileExt;

use super::account::{turns, Turns};

/// The scheduler's account of the thread that opened it.
pub struct Lateness {
    file: Option<File>,
    /// Return how often this thread had to leave a CPU for others.
    interrupted: fn() -> i64,
}

/// The state of an account at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    turns: Turns,
    interrupted: i64,
}

impl Lateness {
    /// Open the account of the calling thread. It measures nothing if the kernel keeps no account
    /// (CONFIG_SCHED_INFO).
    pub fn open() -> Self {
        Self { file: File::open("/proc/thread-self/schedstat").ok(), interrupted }
    }

    #[cfg(test)]
    pub(super) fn of(file: File, interrupted: fn() -> i64) -> Self {
        Self { file: Some(file), interrupted }
    }

    /// Return the present state of the account.
    pub fn mark(&self) -> Option<Mark> {
        let mut text = [0_u8; 96];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        Some(Mark { turns: turns(&text[..length])?, interrupted: (self.interrupted)() })
    }

    /// Return how long this thread waited for a CPU, ns, between being woken and running, if since the mark
    /// it did nothing but sleep once. Return 0 if that is not known: a thread that was interrupted may have
    /// waited before it slept, while what it waits for went on.
    pub fn since(&self, mark: Option<Mark>) -> i64 {
        match (mark, self.mark()) {
            (Some(then), Some(now))
                if now.turns.count == then.turns.count + 1 && now.interrupted == then.interrupted =>
            {
                (now.turns.wait_ns - then.turns.wait_ns).max(0)
            }
            _ => 0,
        }
    }
}

/// The end of something, on CLOCK_MONOTONIC_RAW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The time when the end was noticed, ns.
    pub seen_ns: i64,
    /// The delay of noticing it, ns, as far as it is known.
    pub late_ns: i64,
}

impl End {
    /// Return the same end, which was no later than `latest_ns`.
    pub fn no_later(self, latest_ns: i64) -> Self {
        Self { late_ns: self.late_ns.max(self.seen_ns - latest_ns), ..self }
    }

    /// Return the time of the end, ns, which was no earlier than `earliest_ns`.
    pub fn at(self, earliest_ns: i64) -> i64 {
        (self.seen_ns - self.late_ns).max(earliest_ns).min(self.seen_ns)
    }
}

/// Return the involuntary context switches of the calling thread (getrusage(2)).
fn interrupted() -> i64 {
    // SAFETY: an all-zero rusage is valid, and the pointer is live.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_nivcsw
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;
    use std::thread;

    thread_local!(static TIMES: Cell<i64> = const { Cell::new(0) });

    #[test]
    fn one_sleep_since_the_mark_says_how_late_it_is_and_anything_more_says_nothing() {
        let path = std::env::temp_dir().join(format!("becalm-late-{}", std::process::id()));
        fs::write(&path, "5000 100 7\n").unwrap();
        let late = Lateness::of(File::open(&path).unwrap(), || TIMES.get());
        let mark = late.mark();
        assert_eq!(mark, Some(Mark { turns: Turns { wait_ns: 100, count: 7 }, interrupted: 0 }));
        for (text, interrupted, expected) in [
            ("5000 100 7", 0, 0),
            ("6000 3600 8", 0, 3500),
            ("6000 3600 8", 1, 0),
            ("6000 3600 9", 0, 0),
            ("6000 90 8", 0, 0),
            ("", 0, 0),
            ("5 6", 0, 0),
        ] {
            fs::write(&path, text).unwrap();
            TIMES.set(interrupted);
            assert_eq!(late.since(mark), expected, "{text}, {interrupted}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(late.since(None), 0);
        assert_eq!(Lateness { file: None, interrupted }.since(mark), 0);
    }

    #[test]
    fn an_end_is_neither_before_it_can_have_been_nor_after_it_was_seen() {
        let end = End { seen_ns: 1000, late_ns: 300 };
        assert_eq!([0, 699, 701, 999, 2000].map(|earliest| end.at(earliest)), [700, 700, 701, 999, 1000]);
        assert_eq!(End { late_ns: 0, ..end }.at(0), 1000);
        assert_eq!([600, 700, 800, 2000].map(|latest| end.no_later(latest).at(0)), [600, 700, 700, 700]);
    }

    #[test]
    fn the_account_is_that_of_the_thread_that_opened_it() {
        let turns = || {
            // SAFETY: cannot fail.
            let path = format!("/proc/self/task/{}/schedstat", unsafe { libc::gettid() });
            let text = fs::read_to_string(path).ok()?;
            text.split_ascii_whitespace().nth(2)?.parse::<u64>().ok()
        };
        let (before, mark, after) =
            thread::spawn(move || (turns(), Lateness::open().mark(), turns())).join().unwrap();
        // A kernel without the account has neither.
        assert_eq!(mark.is_some(), before.is_some());
        if let (Some(before), Some(mark), Some(after)) = (before, mark, after) {
            assert!((before..=after).contains(&mark.turns.count), "{before}, {mark:?}, {after}");
        }
        assert!(interrupted() >= 0);
    }
}
