//! Knobs of scope `process` that the child sets itself, between clone and exec: how a value is read when
//! settings are defined, and the system call that applies it to the process.
//!
//! A new one is a pair of functions here and a row of the catalogue. The child may share the agent's memory,
//! so functions called there only make system calls.

use std::mem;

use libc::{c_int, c_long};

use super::domain::Domain;
pub use crate::exec::prepare::Apply;
use crate::exec::prepare::{Operand, Preparation};

/// The settings of a program's own process.
#[derive(Clone, Default)]
pub struct ProcessSettings {
    pub child: Preparation,
    /// Whether to drop the page cache before each run.
    pub cold: bool,
    /// Whether every run has the same environment, whatever padding its step asks for.
    pub fixed_environment: bool,
}

/// A function that reads a value of the domain; None if it is not in it after all.
pub type Read = fn(&Domain, &str) -> Option<Operand>;

/// Read a whole number.
pub fn number(_domain: &Domain, value: &str) -> Option<Operand> {
    value.parse().ok().map(Operand::of)
}

/// Read a word, as 1 for off.
pub fn switched_off(_domain: &Domain, value: &str) -> Option<Operand> {
    Some(Operand::of(i64::from(value == "off")))
}

/// Read a list such as 0,2-3; no CPU may be beyond the set's 1024.
pub fn cpu_set(_domain: &Domain, value: &str) -> Option<Operand> {
    let mut operand = Operand::of(0);
    for cpu in super::cpus::parse(value)? {
        let cpu = usize::try_from(cpu).ok().filter(|cpu| *cpu < libc::CPU_SETSIZE as usize)?;
        // SAFETY: the index was checked against the size of the set.
        unsafe { libc::CPU_SET(cpu, &mut operand.cpus) };
    }
    Some(operand)
}

/// Read class and level in the form of `ioprio_set`: class << 13 | level.
pub fn io_class(domain: &Domain, value: &str) -> Option<Operand> {
    let (class, level) = domain.level(value)?;
    let class = ["none", "realtime", "best-effort", "idle"].iter().position(|name| *name == class)?;
    Some(Operand::of((class as i64) << 13 | level))
}

/// Read a scheduling policy, and its priority as the level.
pub fn policy(domain: &Domain, value: &str) -> Option<Operand> {
    let (class, level) = domain.level(value)?;
    let number = match class {
        "other" => libc::SCHED_OTHER,
        "batch" => libc::SCHED_BATCH,
        "idle" => libc::SCHED_IDLE,
        "fifo" => libc::SCHED_FIFO,
        "rr" => libc::SCHED_RR,
        _ => return None,
    };
    Some(Operand { level, ..Operand::of(number.into()) })
}

/// Apply by sched_setaffinity(2).
pub fn bind(to: &Operand) -> bool {
    // SAFETY: the set lives through the call.
    unsafe { libc::sched_setaffinity(0, mem::size_of_val(&to.cpus), &to.cpus) == 0 }
}

/// Apply by setpriority(2).
pub fn renice(to: &Operand) -> bool {
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, to.number as c_int) == 0 }
}

/// Apply by ioprio_set(2); IOPRIO_WHO_PROCESS is 1 (include/uapi/linux/ioprio.h).
pub fn set_io_priority(to: &Operand) -> bool {
    // A class that needs rights may have been inherited; the kernel refuses to set even the present class.
    // SAFETY: no pointers.
    unsafe {
        libc::syscall(libc::SYS_ioprio_get, 1, 0) == to.number
            || libc::syscall(libc::SYS_ioprio_set, 1, 0, to.number as c_int) == 0
    }
}

/// Apply by personality(2): 1 switches the randomisation of addresses off.
pub fn set_addresses(to: &Operand) -> bool {
    // SAFETY: no pointers.
    unsafe {
        let now = libc::personality(0xffff_ffff);
        let wanted = match to.number {
            0 => now & !libc::ADDR_NO_RANDOMIZE,
            _ => now | libc::ADDR_NO_RANDOMIZE,
        };
        now != -1 && libc::personality(wanted as libc::c_ulong) != -1
    }
}

/// Apply the policy by sched_setattr(2), with the default slice.
pub fn set_policy(to: &Operand) -> bool {
    let (policy, priority) = (to.number as u32, to.level as u32);
    // SAFETY: no pointers. The call sets the nice value too; without this it would go back to 0.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    SchedAttr { policy, priority, nice, ..SchedAttr::default() }.set()
}

/// Apply the slice in ns by sched_setattr(2), 0 for the default; the policy stays. errno is EOPNOTSUPP if the
/// kernel has no slices and ERANGE if it has changed the value, which it does without an error
/// (kernel/sched/syscalls.c, __setparam_fair).
pub fn set_slice(to: &Operand) -> bool {
    let runtime = to.number as u64;
    let Some(now) = SchedAttr::get() else { return false };
    if !(SchedAttr { size: SIZE, flags: 0, runtime, ..now }).set() {
        return false;
    }
    let back = SchedAttr::get().map_or(0, |back| back.runtime);
    if runtime == 0 || back == runtime {
        return true;
    }
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = if back == 0 { libc::EOPNOTSUPP } else { libc::ERANGE } };
    false
}

/// The policies whose programs have slices of their own (kernel/sched/syscalls.c, __setparam_fair; programs
/// of policy idle keep their slice).
pub const SLICED: [&str; 2] = ["other", "batch"];

/// Return whether this kernel has slices of single tasks; None: it does not show that to a process of a
/// realtime policy.
pub fn has_slices() -> Option<bool> {
    let found = SchedAttr::get()?;
    (found.priority == 0).then_some(found.runtime > 0)
}

/// The first 48 bytes of the kernel's `struct sched_attr` (include/uapi/linux/sched/types.h, version 0).
#[repr(C)]
#[derive(Clone, Copy)]
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

const SIZE: u32 = mem::size_of::<SchedAttr>() as u32;

impl Default for SchedAttr {
    fn default() -> Self {
        Self { size: SIZE, policy: 0, flags: 0, nice: 0, priority: 0, runtime: 0, deadline: 0, period: 0 }
    }
}

impl SchedAttr {
    /// Return the attributes of the calling process.
    fn get() -> Option<Self> {
        let mut found = Self::default();
        let size = c_long::from(SIZE);
        // SAFETY: the kernel writes as many bytes as the structure has.
        let done =
            unsafe { libc::syscall(libc::SYS_sched_getattr, 0 as c_long, &mut found, size, 0 as c_long) };
        (done == 0).then_some(found)
    }

    /// Give the calling process these attributes; false: errno has the reason of the failure.
    fn set(self) -> bool {
        // SAFETY: the structure lives through the call.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0 as c_long, &self, 0 as c_long) == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{find, CATALOGUE};
    use super::super::row::Scope;
    use super::*;

    fn takes(name: &str, value: &str) -> bool {
        let knob = find(name).unwrap();
        knob.domain.holds(value)
            && knob.act.on_process(&mut ProcessSettings::default(), knob, value).is_some()
    }

    #[test]
    fn values_in_their_domain() {
        for (name, value) in [
            ("cpus", "0,2-3"),
            ("cpus", "1"),
            ("nice", "-5"),
            ("io_priority", "best-effort:0"),
            ("io_priority", "realtime"),
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
            ("cpus", "1024"),
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
    fn every_class_and_special_value_is_read() {
        for knob in CATALOGUE.iter().filter(|knob| knob.scope == Scope::Process) {
            for value in knob.domain.examples() {
                assert!(takes(knob.name, &value), "{}={value}", knob.name);
            }
        }
    }

    #[test]
    fn cpu_lists_become_sets() {
        let set = cpu_set(&super::super::domain::cpus(&[]), "0,2-3").unwrap().cpus;
        let members: Vec<usize> = (0..8).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect();
        assert_eq!(members, [0, 2, 3]);
    }

    #[test]
    fn numbers_as_the_kernel_takes_them() {
        let io = |value| io_class(&find("io_priority").unwrap().domain, value).unwrap().number;
        assert_eq!((io("none"), io("realtime:3"), io("best-effort"), io("idle")), (0, 8195, 16388, 24576));
        let fifo = policy(&find("policy").unwrap().domain, "fifo:7").unwrap();
        assert_eq!((fifo.number, fifo.level), (1, 7));
    }
}
