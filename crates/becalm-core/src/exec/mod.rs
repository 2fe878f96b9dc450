//! Run one program once: start it, watch it, account for it, end what it leaves.
//!
//! `program` prepares everything a child needs, once per workload. `spawner` has it started: a small process that
//! clones it, on a `stack`, from what lies in the `arena` of both (`child` is the code between clone and exec). `watch`
//! waits (`poll`) on its pidfd while draining its output (`stream`), `late` says how late it saw the end, `account` reads what the kernel counted, `tree`
//! ends descendants, `calls` ask the kernel. At a `gate` two children wait for each other (`futex`), and `watch_pair` waits
//! for both. `user` says as whom a workload runs. The agent calls them in this order for each step.

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

pub use calls::{checked, clock_ns, now_ns};
