//! The process that clones programs: the memory that it shares with the agent, and its code.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem;
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, Ordering};

use super::super::child::{become_program, Begin, Report};
use super::super::futex::{sleep, wake};
use super::super::poll::{poll, reading};
use super::super::prepare::stay_on;
use super::super::{checked, end_with, now_ns};

/// The flag in include/uapi/linux/sched.h; the constant of libc has too small a type for it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// The memory that both processes see.
#[repr(C)]
pub struct Mailbox {
    /// Numbers of the last request and the last reply: futexes.
    pub request: AtomicU32,
    pub reply: AtomicU32,
    /// The number of the last request whose child was watched to its end: a futex, too.
    pub watched: AtomicU32,
    /// The time when that end was noticed, CLOCK_MONOTONIC_RAW, ns.
    pub ended_ns: AtomicI64,
    /// The child, or minus the error of creating it.
    pub pid: AtomicI32,
    pub pidfd: c_int,
    pub flags: c_int,
    pub begin: Begin,
    pub report: Report,
}

/// The arguments of the spawner at its start.
pub struct Start {
    pub mailbox: NonNull<Mailbox>,
    pub stack: *mut c_void,
    pub parent: libc::pid_t,
}

/// Begin the spawner in a control group (clone3(2)), on a copy of this process's stack.
pub fn begin_in(
    group: RawFd,
    flags: c_int,
    argument: *mut c_void,
    pidfd: &mut c_int,
) -> io::Result<libc::pid_t> {
    // SAFETY: all zero is valid: no signal at its end, and a copy of everything.
    let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
    how.flags = flags as u64 | CLONE_INTO_CGROUP;
    how.pidfd = ptr::from_mut(pidfd) as u64;
    how.cgroup = group as u64;
    // SAFETY: live arguments of that size. The new process has a copy of this memory and makes system calls alone.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut how, size_of_val(&how)) };
    match pid {
        0 => {
            serve(argument);
            // SAFETY: ends that process only.
            unsafe { libc::_exit(0) }
        }
        pid => checked(pid as libc::pid_t),
    }
}

/// Run the spawner from its start to its end.
pub extern "C" fn serve(argument: *mut c_void) -> c_int {
    // SAFETY: `Spawner::new` passes a pointer to a Start, of which this process has a copy.
    let Start { mailbox, stack, parent } = unsafe { ptr::read(argument.cast_const().cast::<Start>()) };
    let mailbox = mailbox.as_ptr();
    // SAFETY: plain system calls; the name ends with a zero.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"becalm-spawner".as_ptr(), 0, 0, 0);
        if !end_with(parent, libc::SIGKILL) {
            libc::_exit(0);
        }
    }
    let home = affinity();
    let mut cpu = -1;
    let mut last = 0;
    loop {
        // SAFETY: the mailbox is mapped in this process as long as it lives.
        let asked = unsafe { &(*mailbox).request };
        while asked.load(Ordering::Acquire) == last {
            sleep(asked, last, 0);
        }
        last = asked.load(Ordering::Acquire);
        // A child begins on the CPU of its spawner.
        // SAFETY: as below.
        let next = unsafe { (*mailbox).begin.cpu };
        if next != cpu {
            move_to(next, &home);
            cpu = next;
        }
        // SAFETY: the agent does not touch the mailbox until there is a reply. No child uses the stack any more:
        // the agent asks for the next one when the last has ended.
        unsafe {
            let flags = (*mailbox).flags | libc::CLONE_PARENT | libc::CLONE_PIDFD;
            let pidfd: *mut c_int = &raw mut (*mailbox).pidfd;
            let pid = libc::clone(enter, stack, flags, mailbox.cast(), pidfd);
            let pid = if pid < 0 { -*libc::__errno_location() } else { pid };
            (*mailbox).pid.store(pid, Ordering::Release);
            // The agent may ask for the next one from the reply on, unless this one is watched.
            let watches = pid >= 0 && !(*mailbox).begin.gate.is_null();
            let pidfd = (*mailbox).pidfd;
            (*mailbox).reply.store(last, Ordering::Release);
            wake(&(*mailbox).reply);
            if watches {
                // On this CPU, so that no process elsewhere need be woken. This fails only for lack of
                // memory.
                drop(poll(&mut [reading(pidfd)], None));
                (*mailbox).ended_ns.store(now_ns(), Ordering::Relaxed);
                (*mailbox).watched.store(last, Ordering::Release);
                wake(&(*mailbox).watched);
            }
        }
    }
}

/// Return the CPUs that this process may run on.
fn affinity() -> libc::cpu_set_t {
    // SAFETY: an all-zero cpu_set_t is the empty set, and the pointer is to a live one.
    unsafe {
        let mut cpus: libc::cpu_set_t = mem::zeroed();
        libc::sched_getaffinity(0, mem::size_of_val(&cpus), &mut cpus);
        cpus
    }
}

/// Move to one CPU; -1: to all CPUs of `home`. A child that may not run there reports it.
fn move_to(cpu: c_int, home: &libc::cpu_set_t) {
    if cpu >= 0 {
        stay_on(cpu);
    } else {
        // SAFETY: the pointer is to a live set.
        unsafe { libc::sched_setaffinity(0, mem::size_of_val(home), home) };
    }
}

/// Run the child until it becomes the program. This is on its own stack, perhaps in the spawner's memory.
extern "C" fn enter(mailbox: *mut c_void) -> c_int {
    // SAFETY: `serve` passes the mailbox, which both have; what it is told to do is not changed while it lives.
    let (begin, report) = unsafe {
        let mailbox = mailbox.cast_const().cast::<Mailbox>();
        (&(*mailbox).begin, &(*mailbox).report)
    };
    let stage = become_program(begin, report);
    report.fail(stage);
    // SAFETY: ends this process only, without running anybody's exit handlers.
    unsafe { libc::_exit(127) }
}
