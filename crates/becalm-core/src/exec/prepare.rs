//! Changes that a child makes to itself before it becomes the program, beyond those that `child` makes for every one.
//!
//! A list of system calls as plain data, so that it can be handed to a child that may share its parent's memory. Which
//! calls there are is the catalogue's affair (`knob::process`).

use std::mem;
use std::os::fd::RawFd;

/// The value that a call sets; the rest is zero.
#[derive(Clone, Copy)]
pub struct Operand {
    pub number: i64,
    pub level: i64,
    pub cpus: libc::cpu_set_t,
}

/// Makes a setting that of the calling process; false: the kernel refused it, errno says why. Only system calls: the
/// caller may be a child that shares its parent's memory.
pub type Apply = fn(&Operand) -> bool;

/// One setting.
#[derive(Clone, Copy)]
pub struct Call {
    pub name: &'static str,
    apply: Apply,
    operand: Operand,
}

/// All that is to be done, in this order.
#[derive(Clone, Default)]
pub struct Preparation {
    /// The task file of a cgroup that the child joins first.
    pub join: Option<RawFd>,
    calls: Vec<Call>,
}

impl Operand {
    /// A number.
    pub fn of(number: i64) -> Self {
        // SAFETY: an all-zero cpu_set_t is the empty set.
        Self { number, level: 0, cpus: unsafe { mem::zeroed() } }
    }
}

impl Preparation {
    /// One more call.
    pub fn call(&mut self, name: &'static str, apply: Apply, operand: Operand) {
        self.calls.push(Call { name, apply, operand });
    }

    /// The name of a call, from its number.
    pub fn name(&self, number: usize) -> Option<&'static str> {
        Some(self.calls.get(number)?.name)
    }

    /// The calls, in their order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }
}

/// Do it all to the calling process; on failure the number of the call, and errno says why.
pub fn apply(calls: &[Call]) -> Result<(), usize> {
    match calls.iter().position(|call| !(call.apply)(&call.operand)) {
        None => Ok(()),
        Some(number) => Err(number),
    }
}

/// Have the calling process run on one CPU only; false: errno says why not.
pub fn stay_on(cpu: libc::c_int) -> bool {
    // SAFETY: an all-zero cpu_set_t is the empty set, and the pointer is to a live one.
    unsafe {
        let mut cpus: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut cpus);
        libc::sched_setaffinity(0, mem::size_of_val(&cpus), &cpus) == 0
    }
}

/// Have the calling process join the cgroup of a task file; false: errno says why not.
pub fn join(tasks: RawFd) -> bool {
    // "0" is whoever writes it (cgroup-v2.rst; cpuset.c of v1).
    // SAFETY: the text lives through the call.
    unsafe { libc::write(tasks, c"0".as_ptr().cast(), 1) == 1 }
}
