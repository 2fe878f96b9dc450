//! What changes settings of a machine as root and brings them back: for `becalm-helper`, and for an agent that is root
//! itself. Which values are wanted, and what they are in words, is the affair of others.
//!
//! `table` says what may be written. A `place` is one piece of `state`, in the files of a `tree` (`unmounted`:
//! those of file systems that nobody has mounted); `held` has `changes` on
//! for one conversation (`failure`: why not), through a `hold`, the only writer: it has every place in the `journal` first,
//! under the `lock`, whose `holder` can be ended, and `restore` puts back, also for the `guard` of a killed agent
//! (`recover`). An `owner` applied them; the `title` of what is kept is for root.
//! What changes with CPUs and interrupts: `interrupt`s, of which some stay `away` for a while, tasks that are `bound`, and
//! `member`s of cpusets, of which some have `fallen` out. `controller`, `cpuset`, `weight`, `swap`, `features` and `task`
//! know one kind of thing each, `threads` the CPUs of running processes, `widened` what the kernel makes of them when CPUs
//! go; `rank` is the priorities of a process.

pub mod away;
mod bound;
pub mod changes;
pub mod checksum;
pub mod choice;
pub mod controller;
pub mod cpus;
pub mod cpuset;
pub mod entry;
pub mod failure;
mod fallen;
pub mod features;
pub mod fired;
pub mod guard;
pub mod held;
pub mod hold;
mod holder;
pub mod interrupt;
pub mod journal;
pub mod lock;
mod member;
mod owner;
pub mod pid_stat;
pub mod pidfd;
pub mod place;
pub mod rank;
pub mod recover;
pub mod restore;
mod state;
pub mod swap;
pub mod table;
pub mod task;
pub mod threads;
pub mod title;
pub mod tree;
pub mod unmounted;
#[cfg(any(test, feature = "unprivileged"))]
pub mod unprivileged;
#[cfg(any(test, feature = "unprivileged"))]
pub mod watched;
pub mod weight;
mod widened;
