//! The totals of one running process since it began, as a reading finds them.

use serde::Serialize;

use super::delays::{Delays, NOT_CREDIBLE};

/// The totals of a process since it began, as far as the kernel reports them. None is unknown. Times other
/// than `run_ns` and `wait_ns` are whole ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    pub name: String,
    /// Letter of the kernel: R, S, D, T, Z, …
    pub state: String,
    /// The time when it began, ticks since the boot: with its number its identity.
    pub started: u64,
    pub threads: u64,
    /// Threads that have ended since it was first read.
    pub ended: u64,
    /// Time on a CPU of all threads that were seen, by the scheduler's clock.
    pub run_ns: Option<u64>,
    /// Time on the run queue, ready but not running.
    pub wait_ns: Option<u64>,
    pub slices: Option<u64>,
    /// Waiting for block devices: needs delay accounting.
    pub block_ns: Option<u64>,
    pub voluntary: Option<u64>,
    pub involuntary: Option<u64>,
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    pub resident_bytes: Option<u64>,
    /// Bytes from and to storage.
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
    /// Bytes by read(2), write(2) and the like, from and to anywhere.
    pub read_calls: Option<u64>,
    pub write_calls: Option<u64>,
    pub read_characters: Option<u64>,
    pub written_characters: Option<u64>,
    /// The rest of delay accounting, if the kernel reported on the process as a whole.
    pub swapin_ns: Option<u64>,
    pub reclaim_ns: Option<u64>,
    pub thrashing_ns: Option<u64>,
    pub compact_ns: Option<u64>,
    pub copy_ns: Option<u64>,
    /// Whether `run_ns` and the waits include every thread that ever existed (taskstats), not only those that
    /// were seen.
    pub complete: bool,
    /// The numbers that could not be read, with the reasons.
    pub missing: Vec<String>,
}

impl Account {
    /// Use the kernel's own sums over the process, which include ended threads. `delays`: whether waits other
    /// than for a CPU are counted.
    pub fn complete(&mut self, sums: &Delays, delays: bool) {
        let counted = |name: &str| sums.value(name).filter(|_| delays);
        (self.run_ns, self.wait_ns) = (sums.value("exec_ns"), sums.value("wait_ns"));
        self.block_ns = counted("block_ns");
        self.swapin_ns = counted("swapin_ns");
        self.reclaim_ns = counted("reclaim_ns");
        self.thrashing_ns = counted("thrashing_ns");
        self.compact_ns = counted("compact_ns");
        self.copy_ns = counted("copy_ns");
        self.complete = true;
    }

    /// Discard a wait for devices that is longer than the total life of all threads, and report that: see
    /// `Delays::within`. `now_ns` is the time since the boot, suspension included; `tick_ns` is the unit of
    /// `started`.
    pub fn doubt(&mut self, now_ns: u64, tick_ns: u64) {
        let life_ns = now_ns.saturating_sub(self.started.saturating_mul(tick_ns));
        let lives_ns = life_ns.saturating_add(tick_ns).saturating_mul(self.threads.max(1) + self.ended);
        if self.block_ns.is_some_and(|block_ns| block_ns > lives_ns) {
            self.block_ns = None;
            self.missing.push(NOT_CREDIBLE.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_beyond_all_lives_is_left_out_and_named() {
        const TICK: u64 = 10_000_000;
        let began = Account { started: 900, threads: 2, block_ns: Some(20 * TICK), ..Account::default() };
        let doubted = |now: u64, ended| {
            let mut account = Account { ended, ..began.clone() };
            account.doubt(now * TICK, TICK);
            (account.block_ns, account.missing.len())
        };
        assert_eq!(doubted(909, 0), (Some(20 * TICK), 0));
        assert_eq!(doubted(908, 0), (None, 1));
        assert_eq!(doubted(908, 1), (Some(20 * TICK), 0), "a thread that has ended has lived, too");
    }
}
