//! A discrete-event simulator of Linux's fair schedulers: integer nanoseconds, deterministic, many CPUs.
//!
//! A `Workload` says what tasks do (`workload`), a `Policy` who runs (`policy`: CFS of 6.1, EEVDF of 6.12 and later), a
//! `Machine` how many CPUs there are and what switching costs (`machine`). `Simulation` plays that through from event to
//! event and gives a `Summary`, or why it cannot go on: tasks that wait for each other, steps that never use time. The
//! program `becalm-sim` does so for requests of JSON lines; Python's `becalm simulate` and the hosts `sim:cfs` and
//! `sim:eevdf` start it. Which programs share which chip is decided by `place`, for requests of `becalm-sim place`;
//! when a running one moves cheaply is found by `spots`, for requests of `becalm-sim spots`, and its caches are simulated by
//! `cache`, for requests of `becalm-sim cache`.
//!
//! Not modelled by schedulers: locks, caches, interrupts, control groups, NUMA, and frequency.

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

/// By how much the kernel multiplies its scheduling times for so many CPUs (get_update_sysctl_factor, logarithmic).
pub fn scaling(cpus: usize) -> u64 {
    1 + u64::from(cpus.clamp(1, 8).ilog2())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_scaling_is_the_kernels() {
        assert_eq!([1, 2, 4, 8, 64].map(super::scaling), [1, 2, 3, 4, 4]);
        assert_eq!(
            [1, 2, 4, 8].map(|cpus| super::Eevdf::scaled(cpus, 250).base_slice_ns),
            [700_000, 1_400_000, 2_100_000, 2_800_000]
        );
    }
}
