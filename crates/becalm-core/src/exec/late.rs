//! How late a process sees what it has waited for.
//!
//! Beside a load it is woken at once and then waits for its turn on a CPU: for milliseconds, where others have just
//! begun theirs. That is no part of what it measures, and the kernel counts it (`/proc/PID/schedstat`, run_delay in
//! kernel/sched/stats.h: from being put on a run queue to being run). `watch` marks the account before it sleeps and
//! takes off what has come to it afterwards.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::account::{turns, Turns};

/// The account of the thread that opened it, kept open.
pub struct Lateness(Option<File>);

impl Lateness {
    /// Of the calling thread; of no use where the kernel keeps no account (CONFIG_SCHED_INFO).
    pub fn open() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    #[cfg(test)]
    pub(super) fn of(file: File) -> Self {
        Self(Some(file))
    }

    /// What is in the account now.
    pub fn mark(&self) -> Option<Turns> {
        let mut text = [0_u8; 96];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        turns(&text[..length])
    }

    /// How long after it was woken this thread ran, ns, when it has slept once since that mark. 0 where that is not known:
    /// of several turns some may have come before it slept, while what it waits for went on.
    pub fn since(&self, mark: Option<Turns>) -> i64 {
        match (mark, self.mark()) {
            (Some(then), Some(now)) if now.count == then.count + 1 => (now.wait_ns - then.wait_ns).max(0),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;

    #[test]
    fn one_turn_since_the_mark_is_how_late_it_came_and_of_several_nothing_is_known() {
        let path = std::env::temp_dir().join(format!("becalm-late-{}", std::process::id()));
        fs::write(&path, "5000 100 7\n").unwrap();
        let late = Lateness(File::open(&path).ok());
        let mark = late.mark();
        assert_eq!(mark, Some(Turns { wait_ns: 100, count: 7 }));
        for (text, expected) in [
            ("5000 100 7", 0),
            ("6000 3600 8", 3500),
            ("6000 3600 9", 0),
            ("6000 90 8", 0),
            ("", 0),
            ("5 6", 0),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(late.since(mark), expected, "{text}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(Lateness(None).since(mark), 0);
        assert_eq!(late.since(None), 0);
    }

    #[test]
    fn the_account_is_that_of_the_thread_that_opened_it() {
        let (late, other) = thread::spawn(|| {
            let late = Lateness::open();
            let mark = late.mark();
            (late.since(mark), mark)
        })
        .join()
        .unwrap();
        assert_eq!(late, 0, "it has not slept");
        assert!(other.is_none_or(|turns| turns.count > 0));
    }
}
