//! Processes that only call the kernel.

use super::board::Slot;
use super::demand::Demand;
use super::job::{Job, LoadError};

/// The number of calls between two entries on the board.
const BATCH: u64 = 1_000;

pub fn jobs(demand: &Demand) -> Result<Vec<Job>, LoadError> {
    let job = |_| Job { kind: "syscalls", asked: None, limit_bytes: None, work: Box::new(call) };
    Ok((0..demand.syscalls).map(job).collect())
}

fn call(slot: &Slot) -> LoadError {
    slot.ready();
    loop {
        for _ in 0..BATCH {
            // SAFETY: takes nothing and cannot fail. The raw call, as a C library may remember the answer.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        slot.add(BATCH);
    }
}
