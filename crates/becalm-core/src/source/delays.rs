//! The kernel's accounts of tasks: CPU time and waits.

use crate::exec::account::RunQueue;

/// The columns that are sums over tasks, in the order of `Delays`.
pub const DELAYS: [&str; 9] = [
    "exec_ns",
    "wait_ns",
    "block_ns",
    "swapin_ns",
    "reclaim_ns",
    "thrashing_ns",
    "compact_ns",
    "copy_ns",
    "irq_delay_ns",
];

/// The reason why a wait for devices that the kernel has reported counts as unknown: see `Delays::within`.
pub const NOT_CREDIBLE: &str =
    "the kernel has counted a longer wait for devices than a program has lived, as it may since Linux 6.12: it is left out";

/// The place of the wait for devices. The parts before it are the other parts of a task's time; all of these
/// exclude each other.
const BLOCK: usize = 2;

/// The largest difference between the clocks of one life, ns: a tick of the slowest kernel.
const SLACK_NS: u64 = 10_000_000;

/// CPU time, waiting on run queues, and waiting for other things, ns each, by `DELAYS`. None is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays(pub [Option<u64>; DELAYS.len()]);

impl Delays {
    /// The start of sums: no time and no waits.
    pub const ZERO: Self = Self([Some(0); DELAYS.len()]);

    /// Return CPU time and the wait for a CPU, without the rest.
    pub fn of_schedstat(exec_ns: Option<u64>, wait_ns: Option<u64>) -> Self {
        let mut made = Self::default();
        (made.0[0], made.0[1]) = (exec_ns, wait_ns);
        made
    }

    /// Return a value by the name of its column.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.0[DELAYS.iter().position(|delay| *delay == name)?]
    }

    /// Add those of another task. A sum is unknown if one of its terms is.
    pub fn add(&mut self, other: &Self) {
        for (sum, value) in self.0.iter_mut().zip(other.0) {
            *sum = sum.zip(value).map(|(sum, value)| sum.saturating_add(value));
        }
    }

    /// Return the larger of both in each part; what is unknown of one is unknown.
    pub fn at_least(mut self, other: &Self) -> Self {
        for (part, value) in self.0.iter_mut().zip(other.0) {
            *part = part.zip(value).map(|(part, value)| part.max(value));
        }
        self
    }

    /// Discard a task's wait for devices if it is impossible, because the time that the task ran and waited
    /// cannot exceed its life. Since Linux 6.12 a task may fall asleep while another one is current, and then
    /// the wait is started for that one (kernel/sched/sched.h, `__block_task`, calls `delayacct_blkio_start`,
    /// which acts on `current`): the wait of the sleeper is counted from an earlier wait, or from the boot.
    pub fn within(mut self, life_ns: u64) -> Self {
        let spent = self.0[..=BLOCK].iter().flatten().fold(0_u64, |sum, part| sum.saturating_add(*part));
        if spent > life_ns.saturating_add(life_ns / 50).saturating_add(SLACK_NS) {
            self.0[BLOCK] = None;
        }
        self
    }

    /// Subtract what the task had run and waited on run queues before its time began.
    pub fn since(mut self, early: RunQueue) -> Self {
        for (part, early_ns) in self.0.iter_mut().zip([early.exec_ns, early.wait_ns]) {
            *part = part.map(|ns| ns.saturating_sub(u64::try_from(early_ns).unwrap_or(0)));
        }
        self
    }

    /// Discard the values of delay accounting, which was off.
    pub fn without_accounting(mut self) -> Self {
        self.0[2..].fill(None);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(exec: u64, wait: u64, block: u64) -> Delays {
        let mut made = Delays::ZERO;
        made.0[..=BLOCK].copy_from_slice(&[Some(exec), Some(wait), Some(block)]);
        made
    }

    #[test]
    fn a_wait_that_is_longer_than_the_life_is_unknown() {
        const S: u64 = 1_000_000_000;
        let whole = delays(S / 2, S / 4, S / 4);
        assert_eq!(whole.within(S), whole);
        assert_eq!(delays(S / 2, S / 4, 18_000 * S).within(S).value("block_ns"), None);
        let mut unknown = whole;
        unknown.0[BLOCK] = None;
        // Counted from an earlier wait: less than the life by itself, but more together with the rest.
        assert_eq!(delays(S / 2, S / 4, S / 2).within(S), unknown);
        let since = |exec_ns, wait_ns| whole.since(RunQueue { exec_ns, wait_ns });
        assert_eq!(since(1, S as i64 / 8), delays(S / 2 - 1, S / 8, S / 4));
        assert_eq!(since(0, S as i64), delays(S / 2, 0, S / 4));
        assert_eq!(delays(0, 0, SLACK_NS).within(0).value("block_ns"), Some(SLACK_NS));
        assert_eq!(delays(u64::MAX, 1, 1).within(u64::MAX).value("exec_ns"), Some(u64::MAX));
    }
}
