//! Known load on processors, memory, a disk, the loopback network and the kernel, in requested amounts.
//!
//! A `Demand` has the amount of each kind. Each row of `KINDS` turns its part of the demand into jobs, one
//! process each; a job reports on its `board` slot when its load is up and how much it has done. `crew`
//! starts the processes (`worker`), waits for the time, a command or a signal, ends them, and makes the
//! `report`. `group` is the control group that protects the machine from a memory load, `pace` holds a rate.
//! All of it runs with the user's own rights.

pub mod board;
mod cpu;
pub mod crew;
pub mod demand;
mod disk;
mod group;
mod job;
mod memory;
mod network;
mod pace;
pub mod report;
pub mod room;
mod syscalls;
mod worker;

use demand::Demand;

pub use job::{Job, LoadError, Work};

/// One kind of load.
pub struct Kind {
    pub name: &'static str,
    /// The unit of its slot's count.
    pub unit: &'static str,
    pub jobs: fn(&Demand) -> Result<Vec<Job>, LoadError>,
}

/// All kinds of load: a new one is one file and one row.
pub const KINDS: [Kind; 5] = [
    Kind { name: "cpu", unit: "ns", jobs: cpu::jobs },
    Kind { name: "memory", unit: "bytes", jobs: memory::jobs },
    Kind { name: "disk", unit: "bytes", jobs: disk::jobs },
    Kind { name: "network", unit: "bytes", jobs: network::jobs },
    Kind { name: "syscalls", unit: "calls", jobs: syscalls::jobs },
];

/// Return all processes that a demand needs.
pub fn jobs(demand: &Demand) -> Result<Vec<Job>, LoadError> {
    let mut jobs = Vec::new();
    for kind in &KINDS {
        jobs.extend((kind.jobs)(demand)?);
    }
    if jobs.is_empty() {
        return Err(LoadError::Usage(
            "No load was requested. Name a load, for example two processors: --cpu 2.".into(),
        ));
    }
    Ok(jobs)
}
