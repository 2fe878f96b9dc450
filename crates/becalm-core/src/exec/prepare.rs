//! Changes that a child makes to itself before it becomes the program, beyond those that `child` makes for every one.
//!
//! They are a list of system calls as plain data, so that a child that may share its parent's memory can make
//! them. The catalogue defines the calls (`knob::process`).

use std::mem;
use std::os::fd::RawFd;

/// The value that a call sets; the rest is zero.
#[derive(Clone, Copy)]
pub struct Operand {
    pub number: i64,
    pub level: i64,
    pub cpus: libc::cpu_set_t,
}

/// A function that applies a setting to the calling process; false: the kernel refused it, with the reason in
/// errno. It makes only system calls, since the caller may be a child that shares its parent's memory.
pub type Apply = fn(&Operand) -> bool;

/// One setting.
#[derive(Clone, Copy)]
pub struct Call {
    pub name: &'static str,
    apply: Apply,
    operand: Operand,
}

/// The settings of a child, in the order in which they are applied.
#[derive(Clone, Default)]
pub struct Preparation {
    /// The task file of a cgroup that the child joins first.
    pub join: Option<RawFd>,
    calls: Vec<Call>,
}

impl Operand {
    /// Return the operand for a number.
    pub fn of(number: i64) -> Self {
        // SAFETY: an all-zero cpu_set_t is the empty set.
        Self { number, level: 0, cpus: unsafe { mem::zeroed() } }
    }
}

impl Preparation {
    /// Add a call.
    pub fn call(&mut self, name: &'static str, apply: Apply, operand: Operand) {
        self.calls.push(Call { name, apply, operand });
    }

    /// Return the name of a call, by its number.
    pub fn name(&self, number: usize) -> Option<&'static str> {
        Some(self.calls.get(number)?.name)
    }

    /// Return the calls, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }
}

/// Apply all of them to the calling process; on failure return the number of the call, with the reason in
/// errno.
pub fn apply(calls: &[Call]) -> Result<(), usize> {
    match calls.iter().position(|call| !(call.apply)(&call.operand)) {
        None => Ok(()),
        Some(number) => Err(number),
    }
}

/// Restrict the calling process to one CPU; false: errno has the reason of the failure.
pub fn stay_on(cpu: libc::c_int) -> bool {
    // SAFETY: an all-zero cpu_set_t is the empty set, and the pointer is to a live one.
    unsafe {
        let mut cpus: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut cpus);
        libc::sched_setaffinity(0, mem::size_of_val(&cpus), &cpus) == 0
    }
}

/// Move the calling process to the cgroup of a task file; false: errno has the reason of the failure.
pub fn join(tasks: RawFd) -> bool {
    // "0" stands for the process that writes it (cgroup-v2.rst; cpuset.c of v1).
    // SAFETY: the text lives through the call.
    unsafe { libc::write(tasks, c"0".as_ptr().cast(), 1) == 1 }
}
