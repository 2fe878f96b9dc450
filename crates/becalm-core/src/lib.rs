//! The engine of becalm: what starts, watches and accounts for a program, and what reads the machine.
//!
//! `types` are the nouns as the protocol carries them, `run_columns` names what a run is, `exec` runs one program
//! once, `knob` is the table of settings, `boot` has the machine start once with other kernel parameters, `facts`
//! tells what a machine is and allows, `source` what it does, `load` the records of that around runs, `metric`
//! numbers in what programs print, `quantity` those that are measured of them, `stress` makes it busy, `clock`
//! evaluates timers, `time` is the clock of reported figures, `failure` why a request is refused, `wakeups` is a
//! workload that shows how soon woken threads run, `kernel` are workloads of known pressure on caches. Nothing here
//! prints, and nothing here knows the protocol's framing.

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
