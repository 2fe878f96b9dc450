//! Knobs: the system parameters that becalm knows, what their values mean on a machine, and how that is worded. How they
//! are written and restored is in `becalm_settings`, whose modules are named here, too.
//!
//! `catalogue` is the table, with a file for each way of acting; `row` is what a row says, `domain` the values it takes
//! (`process_list`: some of them). A request's settings are read by `settings`; `resolve` has the ways of acting say which
//! `place`s they change on this machine (`draft`), with what is `affected` by CPUs that go and is `moved` by the kernel;
//! `effect`, what those of the boot came to, by the `proof` that the kernel gives. `process` holds what a child does to
//! itself between clone and exec. `reading` tells whether that can be found out while others are on.
//! `cpuset_facts` and `interrupt_words` are for the person, `write_requests` for the
//! helper that changes a machine for an agent without rights.

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
