//! The engine of becalm: what starts, watches and accounts for a program, and what reads the machine.
//!
//! `types` has the data of the protocol, `run_columns` the columns of a run; `exec` runs one program once,
//! `knob` is the table of settings, and `boot` lets the machine start once with other kernel parameters.
//! `facts` describes a machine and what it permits, `source` reads its load, and `load` records that around
//! runs. `metric` finds numbers in the output of programs, and `quantity` lists those that are measured.
//! `stress` generates load, `clock` evaluates timers, `time` is the clock of reported figures, and `failure`
//! has the reasons why a request is refused. `wakeups` is a workload that shows how soon woken threads run,
//! `kernel` has workloads of known pressure on caches. Nothing here prints, and nothing here knows the
//! protocol's framing.

pub use becalm_settings::cpus;

pub mod boot;
pub mod clock;
pub mod exec;
pub mod facts;
pub mod failure;
pub mod kernel;
pub mod knob;
pub mod load;
pub mod metric;
pub mod number;
pub mod quantity;
mod refusal;
pub mod run_columns;
#[cfg(test)]
mod samples;
pub mod source;
pub mod stress;
pub mod time;
pub mod types;
#[cfg(test)]
mod waiting;
pub mod wakeups;
