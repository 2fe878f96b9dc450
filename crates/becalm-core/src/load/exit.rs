//! The time when a program ended, from the record that the kernel makes of it (taskstats).
//!
//! A process that waits for the end of a program may learn of it late: next to a load it waits for its turn
//! on a CPU, and if output woke it earlier, it does not know for how long. The kernel's record of an ending
//! process is made in `do_exit` (kernel/exit.c, `taskstats_exit`) by the process itself. After it only memory
//! is freed and files are closed.

use super::family::Ending;
use crate::source::taskstats::Task;

/// The time of the rest of the end besides freeing memory, ns: closing files, notifying the parent.
const ENDING_NS: i64 = 200_000;

/// The smallest number of bytes of memory that are freed in one ns.
const FREED_PER_NS: i64 = 10;

/// The end of a process by the kernel's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The time of the record, ns, on the clock of `answered_ns`.
    pub at_ns: i64,
    /// The time for which it ran and waited for a CPU afterwards, ns, and up to a tick before.
    pub after_ns: i64,
}

impl Exit {
    /// Combine the record of its end with what the kernel reported at `answered_ns`, when it was not reaped yet.
    pub fn new(ending: &Ending, asked: &Task, answered_ns: i64) -> Option<Self> {
        let since = |later: u64, earlier: u64| i64::try_from(later.checked_sub(earlier)?).ok();
        let mut after_ns = 0;
        for name in ["exec_ns", "wait_ns"] {
            // Nothing is known of a thread other than the one that was asked about.
            let after = asked.delays.value(name).zip(ending.delays.value(name));
            after_ns += after.and_then(|(later, earlier)| since(later, earlier)).unwrap_or(i64::MAX / 4);
        }
        Some(Self { at_ns: answered_ns - since(asked.lived_ns, ending.lived_ns)?, after_ns })
    }

    /// Return the latest time of the end. `memory_bytes` is the most that the process had.
    ///
    /// How much of `after_ns` was before the record is not known, so it counts for no longer than freeing the
    /// memory can take.
    pub fn latest_ns(self, memory_bytes: i64) -> i64 {
        self.at_ns + self.after_ns.min(memory_bytes.max(0) / FREED_PER_NS) + ENDING_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::delays::Delays;

    const MS: i64 = 1_000_000;

    fn task(exec_ms: u64, wait_ms: u64, lived_ms: u64) -> Task {
        let mut delays = Delays::ZERO;
        (delays.0[0], delays.0[1]) = (Some(exec_ms * MS as u64), Some(wait_ms * MS as u64));
        Task {
            pid: 1,
            parent: 1,
            runs: 1,
            delays,
            process: None,
            lived_ns: lived_ms * MS as u64,
            name: [0; 16],
        }
    }

    fn ending(task: Task) -> Ending {
        Ending { lived_ns: task.lived_ns, delays: task.delays, whole: true }
    }

    #[test]
    fn an_end_adds_the_work_after_the_record() {
        // It ended 103 ms before the query, having run 2 ms more.
        let exit = Exit::new(&ending(task(85, 0, 87)), &task(87, 0, 190), 1_000 * MS).unwrap();
        assert_eq!(exit, Exit { at_ns: 897 * MS, after_ns: 2 * MS });
        assert_eq!(exit.latest_ns(1_000_000_000), 899 * MS + ENDING_NS);
        assert_eq!(exit.latest_ns(1 << 20), 897 * MS + (1 << 20) / FREED_PER_NS + ENDING_NS);
        assert_eq!(exit.latest_ns(0), 897 * MS + ENDING_NS);
    }

    #[test]
    fn another_threads_activity_does_not_bound_the_time_after_exit() {
        let exit = Exit::new(&ending(task(500, 0, 87)), &task(87, 0, 88), 1_000 * MS).unwrap();
        assert_eq!(exit.at_ns, 999 * MS);
        assert_eq!(exit.latest_ns(50_000_000), 1_004 * MS + ENDING_NS, "as long as freeing 50 MB takes");
    }

    #[test]
    fn a_record_from_after_the_question_is_of_something_else() {
        assert_eq!(Exit::new(&ending(task(1, 0, 88)), &task(1, 0, 87), 5), None);
    }
}
