//! The load of the machine besides the program: raw, cumulative numbers of the kernel, and their changes
//! between two readings.
//!
//! `table` lists the sources, one file each (`interface`: their common interface). A `reader` keeps their
//! files open and takes a `Snapshot`: a flat list of numbers that a `layout` names. `snapshot::difference`
//! computes how far each counter moved, either exactly or not at all with a reason. `sampler` takes a
//! `series` of states at a rate that costs next to nothing. `file` and `bytes` read, `directory_entries` lists; `membership` finds the
//! process's control groups; `process` sums one process's threads into an `account`, and `process_sums` asks
//! the kernel for its own sums; `processes` looks at all processes, `others` at those that are not measured (`activity`: what it reports),
//! and `stat` parses what both read; `taskstats` asks over `netlink` for the accounts of ended tasks
//! (`delays`), `perf_events` counts what the processor did for them and `run_counters` any event for one run;
//! `resident` sums the memory of programs, which a `course` stores over time; `group` is a control group for
//! programs (`abandoned`: those that killed agents left), `traffic` the bytes that processes moved and `held_memory` the memory that they hold;
//! `switches` records which task runs when, with two counters per CPU; `energy` reads what the processor's
//! packages used; `row_cache` stores values that are read once per row. After its first calls a sample
//! allocates nothing.

pub(crate) use becalm_settings::fired;
pub use becalm_settings::pid_stat;

pub mod abandoned;
pub mod account;
pub mod activity;
pub mod affinity;
mod bytes;
mod cgroup;
pub mod course;
pub mod delays;
mod directory_entries;
mod diskstats;
pub mod energy;
pub mod file;
mod frequency;
pub mod group;
pub mod held_memory;
pub mod interface;
mod interrupts;
pub mod layout;
mod loadavg;
pub(crate) mod membership;
mod meminfo;
mod netdev;
mod netlink;
mod nfs;
pub mod others;
pub mod pace;
pub mod perf_events;
pub mod process;
pub mod process_sums;
pub mod processes;
mod psi;
mod reader;
pub mod resident;
pub mod ring;
mod row_cache;
pub mod run_counters;
pub mod sampler;
mod schedstat;
mod series;
pub mod snapshot;
mod stat;
pub mod switches;
pub mod table;
pub mod taskstats;
#[cfg(test)]
mod tests;
pub mod traffic;
mod vmstat;

pub use reader::Reader;

/// The length of a tick of /proc/stat and /proc/PID/stat, ns: USER_HZ is 100 on every architecture of today
/// (include/asm-generic/param.h).
pub const TICK_NS: u64 = 10_000_000;
