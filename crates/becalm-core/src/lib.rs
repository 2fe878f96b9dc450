//! The engine of becalm: what starts, watches and accounts for a program, and what reads the machine.
//!
//! `types` are the nouns as the protocol carries them, `run_columns` names what a run is, `exec` runs one program
//! once, `knob` is the table of settings, `boot` has the machine start once with other kernel parameters, `facts`
//! tells what a machine is and allows, `source` what it does, `load` the records of that around runs, `metric`
//! numbers in what programs print, `quantity` those that are measured of them, `stress` makes it busy, `clock`
//! evaluates timers, `time` is the clock of reported figures, `beneath` opens files below a directory, `unmounted`
//! those of kernel file systems that nobody has mounted, `wakeups` is a workload that shows how soon woken threads
//! run, `kernel` are workloads of known pressure on caches. Nothing here prints, and nothing here knows the
//! protocol's framing.
//!
//! Without the feature `measuring` it is what settings need, and nothing that could start a program: for `becalm-helper`.

pub mod beneath;
#[cfg(feature = "measuring")]
pub mod boot;
#[cfg(feature = "measuring")]
pub mod clock;
pub mod cpus;
#[cfg(feature = "measuring")]
pub mod exec;
#[cfg(feature = "measuring")]
pub mod facts;
#[cfg(feature = "measuring")]
pub mod kernel;
pub mod knob;
#[cfg(feature = "measuring")]
pub mod load;
#[cfg(feature = "measuring")]
pub mod metric;
#[cfg(feature = "measuring")]
pub mod number;
#[cfg(feature = "measuring")]
pub mod quantity;
mod refusal;
#[cfg(feature = "measuring")]
pub mod run_columns;
#[cfg(all(test, feature = "measuring"))]
mod samples;
#[cfg(feature = "measuring")]
pub mod source;
#[cfg(feature = "measuring")]
pub mod stress;
pub mod time;
#[cfg(feature = "measuring")]
pub mod types;
mod unmounted;
#[cfg(all(test, feature = "measuring"))]
mod waiting;
#[cfg(feature = "measuring")]
pub mod wakeups;

#[cfg(not(feature = "measuring"))]
pub mod exec {
    mod calls;
    pub mod poll;
    pub mod prepare;
    pub mod tree;
    pub use calls::{checked, clock_ns, now_ns};
}

#[cfg(not(feature = "measuring"))]
pub mod facts {
    pub mod read;
    pub mod services;
}

#[cfg(not(feature = "measuring"))]
pub mod source {
    pub mod abandoned;
    #[allow(dead_code)]
    mod bytes;
    pub mod file;
    pub(crate) mod fired;
    #[allow(dead_code)]
    pub(crate) mod membership;
    pub mod pid_stat;
}
