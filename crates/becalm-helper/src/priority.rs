//! Priorities of another user's process, set and restored: those that a user may not set.

use std::collections::BTreeMap;
use std::io;

use becalm_settings::failure::Failure;
use becalm_settings::rank::Rank;

use crate::caller::OwnProcess;

/// The values by name, as in a request.
pub type Priorities = BTreeMap<String, String>;

/// The priorities that a process had before.
pub struct Before {
    process: OwnProcess,
    rank: Rank,
}

impl Before {
    /// Give a process these priorities: nice value, scheduling policy and I/O class as the settings spell them.
    pub fn apply(process: OwnProcess, wanted: &Priorities) -> Result<Self, Failure> {
        let rank = Rank::of(process.pid).map_err(system)?;
        let mut new = rank;
        for (name, value) in wanted {
            set(&mut new, name, value).ok_or_else(|| {
                Failure::new("domain", format!("{name} {value:?} is not a priority of the settings."))
            })?;
        }
        let applied = if process.lives() { new.apply(process.pid) } else { Err(gone()) };
        let before = Self { process, rank };
        match applied {
            Ok(()) => Ok(before),
            Err(error) => {
                before.restore();
                Err(system(error))
            }
        }
    }

    /// Restore its earlier priorities.
    pub fn restore(self) {
        if self.process.lives() {
            // A process that has ended meanwhile needs none.
            drop(self.rank.apply(self.process.pid));
        }
    }
}

/// Set one priority; None if there is no such name, or its value is out of bounds.
fn set(rank: &mut Rank, name: &str, value: &str) -> Option<()> {
    let (word, level) = value.split_once(':').map_or((value, None), |(word, level)| (word, Some(level)));
    let level = level.map_or(Some(None), |level| level.parse::<i32>().ok().map(Some))?;
    match (name, word, level) {
        ("nice", number, None) => rank.nice = number.parse().ok().filter(|nice| (-20..=19).contains(nice))?,
        ("policy", "fifo", Some(level @ 1..=99)) => (rank.policy, rank.level) = (libc::SCHED_FIFO, level),
        ("policy", "rr", Some(level @ 1..=99)) => (rank.policy, rank.level) = (libc::SCHED_RR, level),
        ("policy", "other", None) => (rank.policy, rank.level) = (libc::SCHED_OTHER, 0),
        ("policy", "batch", None) => (rank.policy, rank.level) = (libc::SCHED_BATCH, 0),
        ("policy", "idle", None) => (rank.policy, rank.level) = (libc::SCHED_IDLE, 0),
        // The value is class << 13 | level (ioprio_set(2)); a class without a level gets the middle one.
        ("io_priority", "none", None) => rank.io = 0,
        ("io_priority", "realtime", None | Some(0..=7)) => rank.io = 1 << 13 | level.unwrap_or(4),
        ("io_priority", "best-effort", None | Some(0..=7)) => rank.io = 2 << 13 | level.unwrap_or(4),
        ("io_priority", "idle", None) => rank.io = 3 << 13,
        _ => return None,
    }
    Some(())
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

fn system(error: io::Error) -> Failure {
    Failure::new("refused", format!("The priorities of the process cannot be set: {error}."))
}
