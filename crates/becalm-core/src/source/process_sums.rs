//! The kernel's sums over a running process, ended threads included (taskstats by thread group).
//!
//! A thread that ends is in these sums twice for a while: `taskstats_exit` adds it to those of the threads
//! that have ended, and until `exit_notify` it still counts as one that runs (kernel/taskstats.c,
//! fill_stats_for_tgid). The CPU clock of the process includes every thread once (kernel/sched/cputime.c,
//! thread_group_cputime), so sums with more CPU time than this clock include a thread twice; then those of
//! the previous reading are used.

use std::io;

use super::delays::Delays;
use super::taskstats::TaskStats;

/// The sums over one process, which never go backwards.
pub struct ProcessSums {
    taskstats: TaskStats,
    pid: i32,
    last: Option<Delays>,
}

impl ProcessSums {
    /// Ask the kernel once: an error if it does not answer this user, or counts processes in another
    /// namespace.
    pub fn new(pid: i32) -> io::Result<Self> {
        let mut sums = Self { taskstats: TaskStats::open()?, pid, last: None };
        sums.read()?;
        Ok(sums)
    }

    /// Return the sums; None as long as every reading included a thread twice.
    pub fn read(&mut self) -> io::Result<Option<Delays>> {
        let sums = self.taskstats.of_process(self.pid as u32)?.delays;
        // The clock is read after the sums: the time in between counts for the clock.
        let cpu_ns = process_cpu_ns(self.pid)?;
        self.last = next(self.last, sums, cpu_ns);
        Ok(self.last)
    }
}

/// Return the sums to use after a reading: the last ones if the new ones include a thread twice.
fn next(last: Option<Delays>, sums: Delays, cpu_ns: u64) -> Option<Delays> {
    let doubled = sums.value("exec_ns").is_some_and(|exec_ns| exec_ns > cpu_ns);
    let mut all = match (last, doubled) {
        (None, true) => return None,
        (None, false) => sums,
        (Some(last), true) => last,
        // A thread that counted twice may have been too short to show in the CPU time.
        (Some(last), false) => sums.at_least(&last),
    };
    all.0[0] = Some(last.and_then(|last| last.0[0]).unwrap_or(0).max(cpu_ns));
    Some(all)
}

/// Return the CPU time of a process by its scheduler's clock, ns: every thread that it ever had, once
/// (clock_getcpuclockid(3)).
pub(super) fn process_cpu_ns(pid: i32) -> io::Result<u64> {
    // The clock is the complement of the number with CPUCLOCK_SCHED (include/linux/posix-timers_types.h).
    let clock = (!pid << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        let error = io::Error::last_os_error();
        // The kernel reports EINVAL for a process that has gone.
        let gone = error.raw_os_error() == Some(libc::EINVAL);
        return Err(if gone { io::Error::from_raw_os_error(libc::ESRCH) } else { error });
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(exec_ns: u64, wait_ns: u64) -> Delays {
        let mut sums = Delays::ZERO;
        (sums.0[0], sums.0[1]) = (Some(exec_ns), Some(wait_ns));
        sums
    }

    #[test]
    fn a_thread_that_counts_twice_leaves_the_last_sums() {
        // The later sum of 47 ms exceeds the 23 ms of the clock: it includes a thread twice.
        let before = next(None, sums(21, 5), 22);
        assert_eq!(before, Some(sums(22, 5)));
        assert_eq!(next(before, sums(47, 9), 23), Some(sums(23, 5)));
        assert_eq!(next(before, sums(23, 6), 23), Some(sums(23, 6)));
    }

    #[test]
    fn sums_never_go_backwards() {
        let before = next(None, sums(20, 9), 22);
        assert_eq!(next(before, sums(21, 6), 22), Some(sums(22, 9)));
    }

    #[test]
    fn a_first_reading_with_a_thread_twice_is_left_out() {
        assert_eq!(next(None, sums(47, 9), 22), None);
    }

    #[test]
    fn the_clock_of_this_process_moves_and_that_of_none_is_refused() {
        let first = process_cpu_ns(std::process::id() as i32).unwrap();
        let second = process_cpu_ns(std::process::id() as i32).unwrap();
        assert!(0 < first && first <= second);
        // This is above the largest number of a process (PID_MAX_LIMIT is 2^22).
        assert_eq!(process_cpu_ns(1 << 23).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
