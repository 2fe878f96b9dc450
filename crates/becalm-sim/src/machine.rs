//! The machine that is simulated: its CPUs, how they share caches, its tick, and what scheduling costs.

use serde::{Deserialize, Serialize};

/// Costs in ns of the time of a CPU. `jitter`: coefficient of variation of each step's time (log-normal); 0: all equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    pub cpus: usize,
    /// CPUs that share a last-level cache, in order; 0: all of them.
    pub llc_cpus: usize,
    pub hz: u64,
    pub write_ns: u64,
    pub read_ns: u64,
    pub wakeup_ns: u64,
    pub switch_ns: u64,
    pub migration_ns: u64,
    pub jitter: f64,
    /// A task that ran within this time has its data in the cache, and is left where it is.
    pub migration_cost_ns: u64,
    /// Tasks that one balancing moves at most.
    pub nr_migrate: usize,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            cpus: 2,
            llc_cpus: 0,
            hz: 250,
            write_ns: 1_000,
            read_ns: 1_000,
            wakeup_ns: 1_000,
            switch_ns: 2_000,
            migration_ns: 5_000,
            jitter: 0.0,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
        }
    }
}

/// Most CPUs that a machine may have.
pub const MOST_CPUS: usize = 8192;

/// Nothing that a scheduler does takes longer than a quarter of an hour.
pub const MOST_COST_NS: u64 = 1_000_000_000_000;

impl Machine {
    /// What cannot be, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MOST_CPUS).contains(&self.cpus) {
            return Err(format!("A machine has 1 to {MOST_CPUS} CPUs, not {}.", self.cpus));
        }
        if !(1..=100_000).contains(&self.hz) {
            return Err(format!("The tick comes 1 to 100000 times a second, not {} times.", self.hz));
        }
        if !(0.0..=10.0).contains(&self.jitter) {
            return Err(format!(
                "A coefficient of variation lies between 0 and 10; jitter is {}.",
                self.jitter
            ));
        }
        let costs = [self.write_ns, self.read_ns, self.wakeup_ns, self.switch_ns, self.migration_ns];
        if let Some(cost) = costs.into_iter().find(|&cost| cost > MOST_COST_NS) {
            return Err(format!("A cost lies between 0 and {MOST_COST_NS} ns, not at {cost}."));
        }
        if self.write_ns == 0 && self.read_ns == 0 {
            return Err(
                "Writing and reading cannot both cost nothing: messages would go round in no time.".into()
            );
        }
        Ok(())
    }

    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / self.hz
    }

    /// The CPUs that share a last-level cache with this one.
    pub fn llc(&self, cpu: usize) -> std::ops::Range<usize> {
        match self.llc_cpus {
            0 => 0..self.cpus,
            size => {
                let first = cpu / size * size;
                first..(first + size).min(self.cpus)
            }
        }
    }
}
