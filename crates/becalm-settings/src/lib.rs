//! Changing settings of a machine as root, and restoring them: for `becalm-helper`, and for an agent that is root itself.
//! Other crates choose the values and describe them in words.
//!
//! - `table`: the permitted writes. `place`: one piece of `state`, in the files of a `tree` (`unmounted`: files of file
//!   systems that nobody has mounted).
//! - `held`: `changes` that are applied for one conversation (`failure`: the reason for a refusal), by a
//!   `hold`, the only writer. It records every place in the `journal` first, under the `lock`, whose `holder`
//!   can be ended.
//! - `restore`: the restore of everything, also by the `guard` of a killed agent (`recover`). `owner`: the
//!   user who applied settings; `title`: the purpose, for root only.
//! - `interrupt`, `away`: interrupts, and those that are on their way back. `bound`, `member`, `fallen`: tasks with CPUs,
//!   in cpusets, and tasks that fell out of one.
//! - `threads`, `widened`: CPUs of running processes, and the kernel's changes to them when CPUs go offline.
//! - `controller`, `cpuset`, `weight`, `swap`, `features`, `task`, `rank` (priorities): one kind of setting
//!   each. `unprivileged`: code for processes with the rights of their user.

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
