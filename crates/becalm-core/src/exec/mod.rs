//! Execution of one program: start it, watch it, account for it, and end what it leaves.
//!
//! `program` prepares everything that a child needs, once per workload. `spawner` has a small process start
//! it: that clones a child, on a `stack`, from data in the `arena` of both (`child` is the code between clone
//! and exec). `watch` waits (`poll`) on its pidfd while draining its output (`stream`), `late` returns how
//! late the end was noticed, `account` reads the kernel's counts, `tree` ends descendants, `calls` are system
//! calls. At a `gate` two children wait for each other (`futex`), and `watch_pair` waits for both. `user` is
//! the user that runs a workload. The agent calls them in this order for each step.

pub mod account;
pub mod arena;
mod calls;
pub mod child;
mod futex;
pub mod gate;
pub mod late;
pub mod poll;
pub mod prepare;
pub mod program;
pub mod spawner;
mod stack;
pub mod stream;
pub mod tree;
pub mod user;
pub mod watch;
pub mod watch_pair;

pub use calls::{checked, clock_ns, end_with, now_ns};
