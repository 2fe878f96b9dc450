//! The child between clone and exec: the system calls by which it becomes the program, and its report of a
//! failure.
//!
//! It may share the spawner's memory (`spawner`), so it allocates nothing, takes no lock and makes only
//! system calls. Its start time and failures are passed in memory that the agent shares.

use std::ffi::{c_char, c_int};
use std::io;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use super::account::{own_run_queue, RunQueue};
use super::gate::Gate;
use super::prepare::{self, Call};
use super::{clock_ns, end_with, now_ns};
use crate::types::Kernel;

/// The last step of a child before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Joining its control group.
    Group,
    User,
    Directory,
    Input,
    Streams,
    Exec,
    /// Moving to its CPU.
    Cpu,
    /// One of the settings, by its number in the request's `Preparation`.
    Setting(usize),
}

/// The steps of every child. In the report the numbers of settings follow theirs.
const STAGES: [Stage; 7] =
    [Stage::Group, Stage::User, Stage::Directory, Stage::Input, Stage::Streams, Stage::Exec, Stage::Cpu];

impl Stage {
    fn number(self) -> usize {
        match self {
            Stage::Setting(number) => STAGES.len() + number,
            other => STAGES.iter().position(|each| *each == other).unwrap_or(STAGES.len() - 1),
        }
    }

    fn of(number: usize) -> Self {
        STAGES.get(number).copied().unwrap_or_else(|| Stage::Setting(number - STAGES.len()))
    }
}

/// The program that the child becomes. Its pointers refer to shared memory.
#[derive(Clone, Copy)]
pub enum Image {
    /// A path, and the lists of arguments and of the environment, both ended by null.
    Exec { path: *const c_char, argv: *const *const c_char, envp: *const *const c_char },
    /// A built-in kernel, and its number of iterations.
    Kernel(Kernel, u64),
}

/// All data that the child needs, laid out in shared memory. Strings end with a zero; null stands for no
/// string.
#[derive(Clone, Copy)]
pub struct Begin {
    pub image: Image,
    /// The task file of a cgroup to join, or -1.
    pub join: RawFd,
    pub calls: (*const Call, usize),
    pub user: Option<(libc::uid_t, libc::gid_t)>,
    pub groups: (*const libc::gid_t, usize),
    pub directory: *const c_char,
    pub input: *const c_char,
    /// Its standard input if it has no other one, its output and its errors.
    pub streams: [RawFd; 3],
    pub parent: libc::pid_t,
    /// The only CPU that it may run on, or -1.
    pub cpu: c_int,
    /// The gate at which it waits for another child; null: it does not wait.
    pub gate: *const Gate,
}

/// The child's messages to its parent.
#[repr(C)]
pub struct Report {
    /// CLOCK_MONOTONIC_RAW just before exec, ns; 0 before that.
    pub begun_ns: AtomicI64,
    /// Its time on a CPU and its wait until then, ns, which are not part of the run's time.
    early_exec_ns: AtomicI64,
    early_wait_ns: AtomicI64,
    /// The number of the step that failed; -1: none has.
    stage: AtomicI32,
    errno: AtomicI32,
}

impl Report {
    /// Reset the report for the next child.
    pub fn clear(&self) {
        self.stage.store(-1, Ordering::Relaxed);
        self.begun_ns.store(0, Ordering::Relaxed);
        self.early_exec_ns.store(0, Ordering::Relaxed);
        self.early_wait_ns.store(0, Ordering::Relaxed);
    }

    /// Return the child's time on a CPU and its wait before its run began.
    pub fn early(&self) -> RunQueue {
        RunQueue {
            exec_ns: self.early_exec_ns.load(Ordering::Relaxed),
            wait_ns: self.early_wait_ns.load(Ordering::Relaxed),
        }
    }

    /// Record that a step has just failed, with errno.
    pub fn fail(&self, stage: Stage) {
        // SAFETY: the thread's own.
        self.errno.store(unsafe { *libc::__errno_location() }, Ordering::Release);
        self.stage.store(stage.number() as i32, Ordering::Release);
    }

    /// Return the step that failed, and the error.
    pub fn failure(&self) -> Option<(Stage, io::Error)> {
        let stage = usize::try_from(self.stage.load(Ordering::Acquire)).ok()?;
        Some((Stage::of(stage), io::Error::from_raw_os_error(self.errno.load(Ordering::Acquire))))
    }

    fn begin(&self, gate: *const Gate) {
        // SAFETY: null, or in memory that is mapped as long as the spawner lives.
        let gate = unsafe { gate.as_ref() };
        if let Some(gate) = gate {
            gate.arrive();
        }
        let mut early = own_run_queue();
        if let Some(gate) = gate {
            gate.pass();
            // Spinning is not part of the run's time either.
            early.exec_ns = clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
        }
        self.early_exec_ns.store(early.exec_ns, Ordering::Relaxed);
        self.early_wait_ns.store(early.wait_ns, Ordering::Relaxed);
        self.begun_ns.store(now_ns(), Ordering::Release);
    }
}

/// Become the program; returns only when a step failed, with errno set.
pub fn become_program(begin: &Begin, report: &Report) -> Stage {
    // SAFETY: plain system calls on values that live through them; signal tables are not shared (no CLONE_SIGHAND).
    unsafe {
        // The program would inherit ignored signals and masks.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        libc::setpgid(0, 0);
        if begin.join >= 0 && !prepare::join(begin.join) {
            return Stage::Group;
        }
        if let Err(which) = prepare::apply(std::slice::from_raw_parts(begin.calls.0, begin.calls.1)) {
            return Stage::Setting(which);
        }
        if begin.cpu >= 0 && !prepare::stay_on(begin.cpu) {
            return Stage::Cpu;
        }
        if begin.user.is_some_and(|user| !become_user(user, begin.groups)) {
            return Stage::User;
        }
        // This follows the change of user, which undoes it.
        if !end_with(begin.parent, libc::SIGKILL) {
            libc::_exit(127);
        }
        if !begin.directory.is_null() && libc::chdir(begin.directory) != 0 {
            return Stage::Directory;
        }
        let [null, stdout, stderr] = begin.streams;
        let input = match begin.input.is_null() {
            true => null,
            false => libc::open(begin.input, libc::O_RDONLY | libc::O_CLOEXEC),
        };
        if input < 0 {
            return Stage::Input;
        }
        for (from, to) in [(input, 0), (stdout, 1), (stderr, 2)] {
            if libc::dup2(from, to) < 0 {
                return Stage::Streams;
            }
        }
        match begin.image {
            Image::Exec { path, argv, envp } => {
                report.begin(begin.gate);
                libc::execve(path, argv, envp);
                Stage::Exec
            }
            Image::Kernel(Kernel::Add, iterations) => {
                report.begin(begin.gate);
                add(iterations);
                libc::_exit(0)
            }
            Image::Kernel(Kernel::Read, iterations) => {
                let Some(table) = table() else { libc::_exit(1) };
                report.begin(begin.gate);
                read(table, iterations);
                libc::_exit(0)
            }
        }
    }
}

/// Change the user by raw calls: the C library's wrappers would change all threads that share the memory.
unsafe fn become_user((uid, gid): (libc::uid_t, libc::gid_t), groups: (*const libc::gid_t, usize)) -> bool {
    libc::syscall(libc::SYS_setgroups, groups.1, groups.0) == 0
        && libc::syscall(libc::SYS_setresgid, gid, gid, gid) == 0
        && libc::syscall(libc::SYS_setresuid, uid, uid, uid) == 0
}

/// The size of the table that is read, bytes: more than the caches of a processor hold for one program.
const TABLE: usize = 64 * 1024 * 1024;

/// Return a table whose pages exist; None if the machine does not have so much memory.
fn table() -> Option<&'static [u64]> {
    // SAFETY: an anonymous mapping at an address of the kernel's choice, which lives as long as this child.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let at =
            libc::mmap(ptr::null_mut(), TABLE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        if at == libc::MAP_FAILED {
            return None;
        }
        // Written, because pages that were only read are all the same page of zeros.
        ptr::write_bytes(at.cast::<u8>(), 1, TABLE);
        Some(std::slice::from_raw_parts(at.cast::<u64>(), TABLE / size_of::<u64>()))
    }
}

/// Read the whole table `iterations` times.
fn read(table: &[u64], iterations: u64) {
    for _ in 0..iterations {
        let sum = std::hint::black_box(table).iter().fold(0_u64, |sum, each| sum.wrapping_add(*each));
        std::hint::black_box(sum);
    }
}

/// Make dependent additions: each needs the previous one, so the time is the number of cycles.
fn add(iterations: u64) {
    let mut value = 0_u64;
    for index in 0..iterations {
        value = std::hint::black_box(value.wrapping_add(index));
    }
    std::hint::black_box(value);
}
