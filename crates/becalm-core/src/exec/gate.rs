//! A gate at which two children wait for each other, so that both become their programs at the same time.
//!
//! The first child to arrive sleeps, so that it takes no CPU from the process that starts the other one. The
//! second child sets a time in the near future, and both spin until then: how late the first one wakes up
//! makes no difference.

use std::hint::spin_loop;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use super::arena::Arena;
use super::futex::{sleep, wake};
use super::now_ns;

/// The time from the arrival of the second one to the release, ns: an idle CPU of a guest wakes up within it.
const LEAD_NS: i64 = 250_000;

/// The number of children that wait for each other.
const BOTH: u32 = 2;

/// The part that both children see.
#[repr(C)]
pub struct Gate {
    arrived: AtomicU32,
    release_ns: AtomicI64,
}

impl Gate {
    /// Wait until both have arrived. Makes only system calls.
    pub fn arrive(&self) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == BOTH {
            self.release_ns.store(now_ns() + LEAD_NS, Ordering::Release);
            wake(&self.arrived);
        }
        while self.release_ns.load(Ordering::Acquire) == 0 {
            sleep(&self.arrived, 1, 0);
        }
    }

    /// Spin until the time of release.
    pub fn pass(&self) {
        let release_ns = self.release_ns.load(Ordering::Acquire);
        while now_ns() < release_ns {
            spin_loop();
        }
    }
}

/// A gate in memory shared by processes that are forked after it was created.
pub struct SharedGate {
    gate: NonNull<Gate>,
    /// The memory of the gate.
    _arena: Arena,
}

impl SharedGate {
    /// Create a gate.
    pub fn new() -> io::Result<Self> {
        let mut arena = Arena::new(size_of::<Gate>().next_power_of_two())?;
        let room = [0_u64; size_of::<Gate>().div_ceil(size_of::<u64>())];
        // All zero is a valid Gate.
        let gate = arena.put(&room).ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?.cast::<Gate>();
        Ok(Self { gate, _arena: arena })
    }

    /// Close the gate behind the last two children, and return it for the next two.
    pub fn close(&self) -> &Gate {
        // SAFETY: mapped as long as self lives, and it has atomics only.
        let gate = unsafe { self.gate.as_ref() };
        gate.release_ns.store(0, Ordering::Relaxed);
        gate.arrived.store(0, Ordering::Release);
        gate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::wait_for;
    use std::thread;

    #[test]
    fn nobody_passes_before_both_have_arrived() {
        let shared = SharedGate::new().unwrap();
        for _ in 0..3 {
            let gate = shared.close();
            let (second_ns, passed_ns) = thread::scope(|scope| {
                let first = scope.spawn(|| {
                    gate.arrive();
                    gate.pass();
                    now_ns()
                });
                wait_for(|| gate.arrived.load(Ordering::Relaxed) == 1);
                let second_ns = now_ns();
                gate.arrive();
                gate.pass();
                (second_ns, [now_ns(), first.join().unwrap()])
            });
            let release_ns = gate.release_ns.load(Ordering::Relaxed);
            assert!(release_ns > second_ns);
            assert!(passed_ns.iter().all(|ns| *ns >= release_ns), "{passed_ns:?}, released at {release_ns}");
            assert_eq!(gate.arrived.load(Ordering::Relaxed), BOTH);
        }
    }
}
