//! Switches of tasks with two counters per CPU, from perf_event_open(2): what the detector of sweet spots reads.
//!
//! `events` has the sets of counters that can be asked for and which raw events they are on this processor. On each CPU
//! `group` opens one group of them, `buffer` is the memory that the kernel writes it to, `parse` reads that: together they
//! are one `feed`; programs of BPF are another, which the agent loads and `bpf` reads. A
//! `Recorder` puts the CPUs together into one stream of `Record`s in order of time; it is asked to `look` again and again,
//! and its memory is bounded by the buffers, into which the kernel writes nothing more, and says so, when they are full.
//! `names` keeps what tasks are called, `lane` translates what one CPU says and `threads` introduces
//! whom it names, `perf_data` reads the same from files, `turnover` is the page-level proxy for machines without counters.
//! The form of a record is that of `becalm-sim spots` (crates/becalm-sim/src/spots/record.rs).

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
