//! Knobs: the system parameters that becalm knows, how they are set, and how they are put back.
//!
//! `catalogue` is the table and `row` what a row says. A request's settings are read by `settings`; `resolve` finds out
//! which `place`s they change on this machine, with what `state` says of it; `effect`, what those of the boot came to. `hold` is the only writer: it has every
//! place in the `journal` first, under the `lock`, and `restore` puts back, also for the guard of a killed agent.
//! `process` holds what a child does to itself between fork and exec. `tree` is the machine's files, or a directory
//! that looks like them; `cpus`, `cpuset`, `swap` and `affected` know one kind of thing each.

mod affected;
pub mod catalogue;
pub mod checksum;
pub mod cpus;
pub mod cpuset;
pub mod effect;
pub mod hold;
pub mod hold_error;
pub mod journal;
pub mod lock;
pub mod place;
pub mod process;
pub mod recover;
pub mod resolve;
pub mod restore;
pub mod row;
pub mod settings;
pub mod state;
mod swap;
pub mod tree;
