//! Knobs of scope `process`: parsed and checked here, applied by the child between fork and exec.
//!
//! `ProcessSettings::set` is called when settings are defined (`knob::settings`); `apply` by `exec::child`, in a child
//! that may share the agent's memory, so it makes system calls and nothing else.

use std::mem;
use std::os::fd::RawFd;

use libc::{c_int, c_long};

/// Values for the knobs of scope `process`; None leaves a knob as it is.
#[derive(Clone, Default)]
pub struct ProcessSettings {
    cpus: Option<libc::cpu_set_t>,
    nice: Option<c_int>,
    io_priority: Option<c_int>,
    policy: Option<(c_int, u32)>,
    slice_ns: Option<u64>,
    no_aslr: Option<bool>,
    /// The task file of a cgroup that the child joins.
    pub join: Option<RawFd>,
}

/// Which setting the kernel refused; the agent words it.
pub const STAGES: [&str; 6] = ["cpus", "nice", "io_priority", "policy", "aslr", "isolation"];

/// The first 48 bytes of the kernel's `struct sched_attr` (include/uapi/linux/sched/types.h, version 0).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl ProcessSettings {
    /// Give one knob a value; None when it is not in the knob's domain.
    pub fn set(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "cpus" => self.cpus = Some(cpu_set(text)?),
            "nice" => self.nice = Some(within(text, -20, 19)?),
            "io_priority" => self.io_priority = Some(io_priority(text)?),
            "policy" => self.policy = Some(policy(text)?),
            "slice_ns" => {
                let slice: u64 = text.parse().ok()?;
                self.slice_ns = Some(slice).filter(|s| *s == 0 || (100_000..=100_000_000).contains(s));
                self.slice_ns?;
            }
            "aslr" => {
                self.no_aslr = Some(match text {
                    "off" | "false" => true,
                    "on" | "true" => false,
                    _ => return None,
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// Apply to the calling process. Only system calls: the caller may be a child that shares its parent's memory.
    /// On failure gives the index of the setting in `STAGES`; errno says why.
    pub fn apply(&self) -> Result<(), usize> {
        // SAFETY: each call passes pointers to values that live through it.
        unsafe {
            if let Some(tasks) = self.join {
                // "0" is whoever writes it (cgroup-v2.rst; cpuset.c of v1).
                if libc::write(tasks, c"0".as_ptr().cast(), 1) != 1 {
                    return Err(5);
                }
            }
            if let Some(cpus) = &self.cpus {
                if libc::sched_setaffinity(0, mem::size_of_val(cpus), cpus) != 0 {
                    return Err(0);
                }
            }
            if let Some(nice) = self.nice {
                if libc::setpriority(libc::PRIO_PROCESS, 0, nice) != 0 {
                    return Err(1);
                }
            }
            if let Some(priority) = self.io_priority {
                // IOPRIO_WHO_PROCESS is 1 (include/uapi/linux/ioprio.h).
                if libc::syscall(libc::SYS_ioprio_set, 1, 0, priority) != 0 {
                    return Err(2);
                }
            }
            if (self.policy.is_some() || self.slice_ns.is_some()) && !self.apply_policy() {
                return Err(3);
            }
            if let Some(no_aslr) = self.no_aslr {
                let now = libc::personality(0xffff_ffff);
                let wanted =
                    if no_aslr { now | libc::ADDR_NO_RANDOMIZE } else { now & !libc::ADDR_NO_RANDOMIZE };
                if now == -1 || libc::personality(wanted as libc::c_ulong) == -1 {
                    return Err(4);
                }
            }
        }
        Ok(())
    }

    unsafe fn apply_policy(&self) -> bool {
        let (policy, priority) = self.policy.unwrap_or((libc::SCHED_OTHER, 0));
        let attr = SchedAttr {
            size: mem::size_of::<SchedAttr>() as u32,
            policy: policy as u32,
            // The call sets the nice value too; without this it would go back to 0.
            nice: libc::getpriority(libc::PRIO_PROCESS, 0),
            priority,
            runtime: self.slice_ns.unwrap_or(0),
            ..SchedAttr::default()
        };
        if libc::syscall(libc::SYS_sched_setattr, 0 as c_long, &attr, 0 as c_long) != 0 {
            return false;
        }
        let Some(wanted) = self.slice_ns.filter(|slice| *slice != 0) else { return true };
        // A kernel before 6.12 accepts a slice and forgets it: read it back.
        let mut back = SchedAttr::default();
        let size = mem::size_of::<SchedAttr>() as c_long;
        if libc::syscall(libc::SYS_sched_getattr, 0 as c_long, &mut back, size, 0 as c_long) != 0 {
            return false;
        }
        if back.runtime != wanted {
            *libc::__errno_location() = libc::EOPNOTSUPP;
            return false;
        }
        true
    }
}

fn within<T: std::str::FromStr + PartialOrd>(text: &str, low: T, high: T) -> Option<T> {
    text.parse().ok().filter(|value| *value >= low && *value <= high)
}

/// A list such as "0,2-3" as a set; None when it is empty, malformed or names a CPU beyond the set's 1024.
fn cpu_set(text: &str) -> Option<libc::cpu_set_t> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= libc::CPU_SETSIZE as usize {
            return None;
        }
        for cpu in first..=last {
            // SAFETY: the index was checked against the size of the set.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
    }
    Some(set)
}

/// Class and level as `ioprio_set` takes them: class << 13 | level.
fn io_priority(text: &str) -> Option<c_int> {
    let (class, level) = text.split_once(':').map_or((text, None), |(class, level)| (class, Some(level)));
    let number = match (class, level) {
        ("none", None) => return Some(0),
        ("idle", None) => return Some(3 << 13),
        ("realtime", _) => 1,
        ("best-effort", _) => 2,
        _ => return None,
    };
    Some(number << 13 | within(level.unwrap_or("4"), 0, 7)?)
}

fn policy(text: &str) -> Option<(c_int, u32)> {
    match text.split_once(':') {
        None => Some(match text {
            "other" => (libc::SCHED_OTHER, 0),
            "batch" => (libc::SCHED_BATCH, 0),
            "idle" => (libc::SCHED_IDLE, 0),
            _ => return None,
        }),
        Some(("fifo", level)) => Some((libc::SCHED_FIFO, within(level, 1, 99)?)),
        Some(("rr", level)) => Some((libc::SCHED_RR, within(level, 1, 99)?)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(name: &str, value: &str) -> bool {
        ProcessSettings::default().set(name, value).is_some()
    }

    #[test]
    fn values_in_their_domain() {
        for (name, value) in [
            ("cpus", "0,2-3"),
            ("cpus", "1"),
            ("nice", "-5"),
            ("io_priority", "best-effort:0"),
            ("io_priority", "idle"),
            ("policy", "fifo:50"),
            ("slice_ns", "3000000"),
            ("slice_ns", "0"),
            ("aslr", "off"),
        ] {
            assert!(takes(name, value), "{name}={value}");
        }
    }

    #[test]
    fn values_out_of_their_domain() {
        for (name, value) in [
            ("cpus", ""),
            ("cpus", "3-1"),
            ("cpus", "0-99999"),
            ("cpus", "a"),
            ("nice", "20"),
            ("nice", "1.5"),
            ("io_priority", "idle:1"),
            ("policy", "fifo"),
            ("policy", "fifo:0"),
            ("slice_ns", "5"),
            ("slice_ns", "-1"),
            ("aslr", "2"),
            ("aslr", "null"),
        ] {
            assert!(!takes(name, value), "{name}={value}");
        }
    }

    #[test]
    fn cpu_lists_become_sets() {
        let set = cpu_set("0,2-3").unwrap();
        let members: Vec<usize> = (0..8).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect();
        assert_eq!(members, [0, 2, 3]);
    }
}
