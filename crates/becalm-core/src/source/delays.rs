//! What the kernel's accounts say of tasks: CPU time and what was waited for.

/// Columns that are sums over tasks, in the order of `Delays`.
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

/// CPU time, waiting on run queues, and waiting for other things, ns each, by `DELAYS`. None is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays(pub [Option<u64>; DELAYS.len()]);

impl Delays {
    /// Nothing done and nothing waited for: what sums begin with.
    pub const ZERO: Self = Self([Some(0); DELAYS.len()]);

    /// CPU time and waiting alone.
    pub fn of_schedstat(exec_ns: Option<u64>, wait_ns: Option<u64>) -> Self {
        let mut made = Self::default();
        (made.0[0], made.0[1]) = (exec_ns, wait_ns);
        made
    }

    /// By the column's name.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.0[DELAYS.iter().position(|delay| *delay == name)?]
    }

    /// Add another task's. What is unknown of one is unknown of the sum.
    pub fn add(&mut self, other: &Self) {
        for (sum, value) in self.0.iter_mut().zip(other.0) {
            *sum = sum.zip(value).map(|(sum, value)| sum.saturating_add(value));
        }
    }

    /// Forget what only delay accounting counts, which was off.
    pub fn without_accounting(mut self) -> Self {
        self.0[2..].fill(None);
        self
    }
}
