//! Knobs: the system parameters that becalm knows, how they are set, and how they are put back.
//!
//! `catalogue` is the table, with a file for each way of acting; `row` is what a row says, `domain` the values it takes.
//! A request's settings are read by `settings`; `resolve` has the ways of acting say which `place`s they change on this
//! machine (`changes`); `effect`, what those of the boot came to, by the `proof` that the kernel gives. `hold` is the
//! only writer: it has every place in the `journal` first, under the `lock`, whose `holder` can be ended, and `restore` puts back, also for the guard
//! of a killed agent; the `title` of what is kept is for root. `process` holds what a child does to itself between clone
//! and exec. `tree` is the machine's files, or a directory that looks like them, on which the kernel is `played`; `processors`
//! are those it has, a `choice` and `features` are how some files show a value.
//! `affected` is what changes with CPUs and interrupts: `interrupt`s, of which some stay `away` for a while, and
//! `member`s of cpusets, of which some have `fallen` out. `controller`, `cpuset`, `weight`, `swap` and `task` know one
//! kind of thing each, `threads` the CPUs of running processes, `widened` what the kernel makes of them when CPUs go.

pub use crate::cpus;

mod affected;
pub mod away;
pub mod catalogue;
pub mod changes;
pub mod checksum;
pub mod choice;
pub mod controller;
pub mod cpuset;
pub mod domain;
pub mod effect;
mod fallen;
pub mod features;
pub mod hold;
pub mod hold_error;
pub mod holder;
pub mod interrupt;
pub mod journal;
#[cfg(test)]
mod journal_cuts_tests;
pub mod lock;
mod member;
mod moved;
pub mod place;
pub mod played;
pub mod process;
pub mod processors;
pub mod proof;
pub mod recover;
pub mod resolve;
pub mod restore;
pub mod row;
pub mod setting_error;
pub mod settings;
mod swap;
pub mod task;
pub mod threads;
pub mod title;
pub mod tree;
pub mod weight;
mod widened;
