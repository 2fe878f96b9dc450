//! Known load: processors, memory, a disk, the loopback network and the kernel kept busy as much as was asked for.
//!
//! A `Demand` says how much of what. Each row of `KINDS` turns its part of the demand into jobs, one process each; a job
//! says on its `board` slot when its load is up and how much it has done. `crew` starts the processes (`worker`), waits
//! for the time, a command or a signal, ends them, and makes the `report`. `group` is the control group that keeps a
//! memory load from taking the machine with it, `pace` holds a rate. All of it runs with the person's own rights.

pub mod board;
mod cpu;
pub mod crew;
pub mod demand;
mod disk;
mod group;
mod memory;
mod network;
mod pace;
pub mod report;
mod syscalls;
mod worker;

use board::Slot;
use demand::Demand;

/// Why load cannot be made: a sentence.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct LoadError(pub String);

/// What one process does. It says on its slot when the load is up, and returns only with an error.
pub type Work = Box<dyn FnOnce(&Slot) -> LoadError>;

/// One process of the load.
pub struct Job {
    pub kind: &'static str,
    /// How much was asked of this process, in the kind's unit; None: as much as it can.
    pub asked: Option<f64>,
    /// Bytes that the process and its group may have in memory.
    pub limit_bytes: Option<u64>,
    pub work: Work,
}

/// One kind of load.
pub struct Kind {
    pub name: &'static str,
    /// What its slot counts.
    pub unit: &'static str,
    pub jobs: fn(&Demand) -> Result<Vec<Job>, LoadError>,
}

/// All kinds of load: one more is one file and one row.
pub const KINDS: [Kind; 5] = [
    Kind { name: "cpu", unit: "ns", jobs: cpu::jobs },
    Kind { name: "memory", unit: "bytes", jobs: memory::jobs },
    Kind { name: "disk", unit: "bytes", jobs: disk::jobs },
    Kind { name: "network", unit: "bytes", jobs: network::jobs },
    Kind { name: "syscalls", unit: "calls", jobs: syscalls::jobs },
];

/// All processes that a demand needs.
pub fn jobs(demand: &Demand) -> Result<Vec<Job>, LoadError> {
    let mut jobs = Vec::new();
    for kind in &KINDS {
        jobs.extend((kind.jobs)(demand)?);
    }
    if jobs.is_empty() {
        return Err(LoadError(
            "No load was asked for. Say how much of what, for example two processors: --cpu 2.".into(),
        ));
    }
    Ok(jobs)
}
