//! The simulated machine: its CPUs, their shared caches, its tick, and the costs of scheduling.

use serde::{Deserialize, Serialize};

/// The machine. Costs are CPU time in ns. `jitter` is the coefficient of variation of each step's time
/// (log-normal); at 0 all are equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    pub cpus: usize,
    /// The number of CPUs that share a last-level cache, in order; 0: all of them.
    pub llc_cpus: usize,
    pub hz: u64,
    pub write_ns: u64,
    pub read_ns: u64,
    pub wakeup_ns: u64,
    pub switch_ns: u64,
    pub migration_ns: u64,
    pub jitter: f64,
    /// The time for which a task that ran keeps its data in the cache and is therefore not migrated, ns.
    pub migration_cost_ns: u64,
    /// The largest number of tasks that one balancing moves.
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

/// The largest number of CPUs of a machine.
pub const MOST_CPUS: usize = 8192;

/// The largest cost of a scheduling operation, ns (about a quarter of an hour).
pub const MOST_COST_NS: u64 = 1_000_000_000_000;

impl Machine {
    /// Check that the values are in range.
    ///
    /// # Errors
    /// Returns a sentence about the first value that is not.
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

    /// Return the CPUs that share a last-level cache with this one.
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
