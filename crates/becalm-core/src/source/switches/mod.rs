//! Switches of tasks with two counters per CPU, from perf_event_open(2), which the detector of sweet spots
//! reads.
//!
//! `events` has the sets of counters that can be requested and their raw events on this processor. On each
//! CPU `group` opens one group of them, the kernel writes it to the memory in `buffer`, and `parse` reads
//! that: together they are one `feed`; programs of BPF are another, which the agent loads and `bpf` reads. A
//! `Recorder` combines the CPUs into one stream of `Record`s in order of time; its `look` must be called
//! repeatedly, and its memory is bounded by the buffers: when they are full the kernel writes nothing more
//! into them, and reports that. `names` stores the names of tasks, `lane` translates the records of one CPU
//! and `threads` introduces the threads that they name, `perf_data` reads the same from files, and `turnover`
//! is the page-level proxy for machines without counters. The form of a record is that of `becalm-sim spots`
//! (crates/becalm-sim/src/spots/record.rs).

pub mod bpf;
pub mod buffer;
pub mod events;
pub mod feed;
pub mod group;
pub mod lane;
pub mod llc;
pub mod names;
pub mod parse;
pub mod perf_data;
mod record;
pub mod recorder;
mod threads;
pub mod turnover;

pub use record::{Record, What};
pub use recorder::{Recorder, Trouble};
