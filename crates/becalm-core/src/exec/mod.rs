//! Run one program once: start it, watch it, account for it, end what it leaves.
//!
//! `program` prepares everything a child needs, once per workload. `spawner` has it started: a small process that
//! clones it, on a `stack`, from what lies in the `arena` of both (`child` is the code between clone and exec). `watch`
//! waits (`poll`) on its pidfd while draining its output (`stream`), `late` says how late it saw the end, `account` reads what the kernel counted, `tree`
//! ends descendants. `user` says as whom a workload runs. The agent calls them in this order for each step.

pub mod account;
pub mod arena;
pub mod child;
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

use std::io;

/// CLOCK_MONOTONIC_RAW in ns: never stepped, never slewed.
pub fn now_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// A clock of clock_gettime(2) in ns.
pub fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; both clocks exist on every kernel since 2.6.28.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Turn the -1 of a system call into its errno.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
