//! The largest demand for which a machine has room: a demand far above it blocks the machine for everybody
//! and shows nothing more.

use std::fs;

use super::job::LoadError;

/// The largest number of tasks of a load for each online CPU. A run queue of eight shows as much slowness as
/// is useful; more load only makes ending it take longer.
pub const TASKS_PER_CPU: usize = 8;

/// The largest number of copies of a user's own program that may be started at once for each online CPU: how
/// a rate falls far beyond the number of CPUs is a frequent question, and the copies end when their work is
/// done.
pub const COPIES_PER_CPU: usize = 64;

/// A machine's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The number of online CPUs.
    pub cpus: usize,
    /// All memory and all swap, in bytes; None if it is not known.
    pub memory_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
}

impl Room {
    /// Return the size of this machine, from sysconf(3) and /proc/meminfo.
    pub fn here() -> Self {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        // SAFETY: no pointers.
        let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        Self {
            cpus: usize::try_from(cpus).unwrap_or(1).max(1),
            memory_bytes: size(&text, "MemTotal"),
            swap_bytes: size(&text, "SwapTotal"),
        }
    }

    /// Refuse more tasks of a load than the machine has room for; `what` names them, in the plural.
    pub fn check(&self, tasks: f64, what: &str) -> Result<(), LoadError> {
        self.check_up_to(TASKS_PER_CPU, tasks, what)
    }

    /// Refuse more copies of a program at once than the machine has room for.
    pub fn check_copies(&self, copies: u32) -> Result<(), LoadError> {
        self.check_up_to(COPIES_PER_CPU, f64::from(copies), "copies at once")
    }

    fn check_up_to(&self, per_cpu: usize, tasks: f64, what: &str) -> Result<(), LoadError> {
        let (most, cpus) = (per_cpu * self.cpus, self.cpus);
        // NaN is not within any limit.
        if (0.0..=most as f64).contains(&tasks) {
            return Ok(());
        }
        let online = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
        Err(LoadError::Usage(format!(
            "{tasks} {what} are more than this machine has room for: it has {online} online, and may have 0 to {most} \
             ({per_cpu} for each). Ask for {most} or fewer."
        )))
    }
}

/// Return a size of /proc/meminfo in bytes.
pub fn size(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_tasks_than_a_few_for_each_cpu_are_refused_with_the_number_that_may_be() {
        let room = Room { cpus: 2, memory_bytes: None, swap_bytes: None };
        assert!(room.check(16.0, "spinners").is_ok());
        assert!(room.check(0.0, "spinners").is_ok());
        for tasks in [16.01, 10_000.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = room.check(tasks, "spinners").unwrap_err();
            assert!(matches!(error, LoadError::Usage(_)), "{tasks}");
            assert!(error.to_string().contains("0 to 16"), "{error}");
        }
        assert!(room.check_copies(128).is_ok());
        assert!(room.check_copies(129).unwrap_err().to_string().contains("0 to 128"));
    }

    #[test]
    fn a_size_is_read_in_bytes() {
        assert_eq!(size("MemTotal:  4 kB\nSwapTotal: 0 kB\n", "MemTotal"), Some(4096));
        assert_eq!(size("MemTotal:  4 kB\n", "Mem"), None);
        assert_eq!(size("MemTotal:  99999999999999999999 kB\n", "MemTotal"), None);
    }
}
