//! Knobs: the system parameters that becalm knows, the meaning of their values on a machine, and their
//! description. `becalm_settings` writes and restores them; its modules are named here, too.
//!
//! `catalogue` is the table, with a file for each kind of knob; `row` has the fields of a row, `domain` its
//! values (`process_list`: some of them). A request's settings are read by `settings`; `resolve` lets each
//! kind add the `place`s that it changes on this machine (`draft`), with those that are `affected` by CPUs
//! that go and `moved` by the kernel; `effect` finds the state of settings of the boot, by the `proof` in the
//! kernel. `process` has the settings that a child applies to itself between clone and exec. `reading`
//! decides whether settings can be read while others are on. `cpuset_facts` and `interrupt_words` have
//! sentences for the user, `write_requests` those for the helper that changes a machine for an agent without
//! rights.

pub use becalm_settings::unprivileged::{directory, locks, played};
pub use becalm_settings::{
    away, changes, checksum, choice, controller, cpus, cpuset, entry, features, hold, interrupt, journal,
    lock, place, recover, restore, swap, table, task, threads, title, tree, watched, weight,
};

mod affected;
pub mod catalogue;
pub mod cpuset_facts;
pub mod domain;
pub mod draft;
pub mod effect;
pub mod interrupt_words;
#[cfg(test)]
mod journal_cuts_tests;
mod moved;
pub mod process;
mod process_list;
pub mod proof;
pub mod reading;
pub mod resolve;
pub mod row;
pub mod setting_error;
pub mod settings;
pub mod write_requests;
