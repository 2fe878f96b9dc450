//! A discrete-event simulator of Linux's fair schedulers: integer nanoseconds, deterministic, many CPUs.
//!
//! - A `Workload` describes what tasks do (`workload`), a `Policy` decides which task runs (`policy`: CFS of
//!   6.1, EEVDF of 6.12 and later), and a `Machine` has a number of CPUs and costs of switching (`machine`).
//! - A `Simulation` plays events in order and returns a `Summary`, or an error if it cannot proceed: tasks
//!   that wait for each other, or steps that never use time.
//! - `place` decides which programs share which chip, for requests of `becalm-sim place`.
//! - `spots` finds moments at which a running program migrates cheaply, for requests of `becalm-sim spots`.
//! - `cache` simulates the caches of such programs, for requests of `becalm-sim cache`.
//!
//! The program `becalm-sim` answers requests as JSON lines. Python's `becalm simulate` and the hosts
//! `sim:cfs` and `sim:eevdf` start it.
//!
//! The schedulers do not model locks, caches, interrupts, control groups, NUMA and frequency.

pub mod agenda;
pub mod cache;
pub mod cpuset;
pub mod histogram;
pub mod machine;
pub mod place;
pub mod policy;
pub mod random;
pub mod request;
pub mod simulation;
pub mod spots;
pub mod summary;
pub mod weight;
pub mod workload;

pub use machine::Machine;
pub use policy::{Cfs, Eevdf, Policy};
pub use simulation::{Simulation, SimulationError};
pub use summary::Summary;
pub use workload::Workload;

/// Return the factor by which the kernel multiplies its scheduling times on a machine with this number of
/// CPUs (get_update_sysctl_factor, logarithmic).
pub fn scaling(cpus: usize) -> u64 {
    1 + u64::from(cpus.clamp(1, 8).ilog2())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_scaling_is_that_of_the_kernel() {
        assert_eq!([1, 2, 4, 8, 64].map(super::scaling), [1, 2, 3, 4, 4]);
        assert_eq!(
            [1, 2, 4, 8].map(|cpus| super::Eevdf::scaled(cpus, 250).base_slice_ns),
            [700_000, 1_400_000, 2_100_000, 2_800_000]
        );
    }
}
