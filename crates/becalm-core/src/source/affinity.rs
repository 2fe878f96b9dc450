//! The CPUs that a process may use (sched_getaffinity(2)).

use std::mem;

/// A set of CPUs.
pub type Cpus = Vec<usize>;

/// Return the CPUs that a process may use, even if it has ended and was not reaped; None when the kernel does
/// not report them.
pub fn allowed(pid: libc::pid_t) -> Option<Cpus> {
    // SAFETY: an all-zero cpu_set_t is the empty set; the pointer is live, and the length is its own.
    let set = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(pid, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return None;
        }
        set
    };
    // SAFETY: within the set.
    Some((0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_use_some_cpu() {
        assert!(!allowed(0).unwrap().is_empty());
        assert_eq!(allowed(-5), None);
    }
}
