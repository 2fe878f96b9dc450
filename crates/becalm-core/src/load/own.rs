//! The kernel's accounts of the measured programs themselves, summed over the runs of a record.

use crate::source::delays::Delays;
use crate::source::perf_events::Counts;

/// The part of the programs that the sums cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The first thread of the first process.
    #[default]
    Leader,
    /// All threads of the first process.
    Group,
    /// The process and all its descendants.
    Tree,
}

impl Scope {
    /// Return the word in the record.
    pub fn word(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Group => "group",
            Self::Tree => "tree",
        }
    }
}

/// The figures of one run, or of the runs of a record together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Own {
    /// The level: 0: rusage only; 1: schedstat; 2: taskstats without delay accounting; 3: with it.
    pub level: u64,
    pub scope: Scope,
    pub delays: Delays,
    /// The counts of the processor.
    pub counts: Counts,
    /// The number of threads and processes in the sums.
    pub tasks: Option<u64>,
    /// The number of ends of processes that the kernel could not report.
    pub lost: Option<u64>,
    /// The time held back by a quota of the own control group, ns.
    pub quota_ns: Option<u64>,
    /// The PSI "some" of the own control group: CPU, I/O, memory, ns.
    pub pressure_ns: [Option<u64>; 3],
}

impl Own {
    /// Return the start of a sum over runs: everything is known, and zero.
    pub fn none_yet() -> Self {
        Self {
            level: 3,
            scope: Scope::Tree,
            delays: Delays::ZERO,
            counts: Counts::ZERO,
            tasks: Some(0),
            lost: Some(0),
            ..Self::default()
        }
    }

    /// Add a run: a sum is known as well as its least known part.
    pub fn add(&mut self, run: &Self) {
        self.level = self.level.min(run.level);
        self.scope = self.scope.min(run.scope);
        self.delays.add(&run.delays);
        self.counts.add(&run.counts);
        self.tasks = self.tasks.zip(run.tasks).map(|(sum, tasks)| sum + tasks);
        self.lost = self.lost.zip(run.lost).map(|(sum, lost)| sum + lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_known_as_well_as_its_least_known_part() {
        let mut sum = Own::none_yet();
        let whole = Own { delays: Delays([Some(5); 9]), tasks: Some(3), ..Own::none_yet() };
        sum.add(&whole);
        sum.add(&whole);
        assert_eq!((sum.delays.value("block_ns"), sum.tasks, sum.level), (Some(10), Some(6), 3));
        let leader = Own { level: 1, delays: Delays::of_schedstat(Some(1), Some(2)), ..Own::default() };
        sum.add(&leader);
        assert_eq!((sum.level, sum.scope, sum.lost), (1, Scope::Leader, None));
        assert_eq!((sum.delays.value("exec_ns"), sum.delays.value("wait_ns")), (Some(11), Some(12)));
        assert_eq!(sum.delays.value("block_ns"), None);
    }
}
