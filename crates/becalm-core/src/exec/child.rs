//! Start a child: clone, the system calls between clone and exec, and how the child reports a failure.
//!
//! `Starter::start` is the only place that creates a process. The child shares the agent's memory until it execs
//! (CLONE_VM | CLONE_VFORK, as posix_spawn does), so it allocates nothing, takes no lock and makes only system calls.
//! When the user changes, memory is not shared: a process of another user must never own the agent's address space.
//! Start time and failures come back through one shared page.

use std::ffi::{c_int, c_void, CStr};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use super::prepare::Preparation;
use super::user::User;
use super::{checked, now_ns};
use crate::types::Kernel;

/// What the child did last before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Joining its control group.
    Group,
    User,
    Directory,
    Input,
    Streams,
    Exec,
    /// One of the settings, by its number in the order's `Preparation`.
    Setting(usize),
}

/// Settings are counted from here on in the report, after what every child does.
const STAGES: [Stage; 6] =
    [Stage::Group, Stage::User, Stage::Directory, Stage::Input, Stage::Streams, Stage::Exec];

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

/// Why a child never became the program.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("a process could not be created: {0}")]
    Clone(io::Error),
    #[error("{stage:?}: {error}")]
    Child { stage: Stage, error: io::Error },
    /// The kernel refused the setting of this name.
    #[error("{name}: {error}")]
    Setting { name: &'static str, error: io::Error },
}

/// What runs in the child.
pub enum Image<'a> {
    /// Path, argument pointers and environment pointers, both ended by null.
    Exec { path: &'a CStr, argv: &'a [*const libc::c_char], envp: &'a [*const libc::c_char] },
    /// A built-in kernel, so many times.
    Kernel(Kernel, u64),
}

/// Everything about one child, made before it is started.
pub struct Order<'a> {
    pub image: Image<'a>,
    pub settings: &'a Preparation,
    pub user: Option<&'a User>,
    pub directory: Option<&'a CStr>,
    pub input: Option<&'a CStr>,
    pub null: RawFd,
    pub stdout: RawFd,
    pub stderr: RawFd,
}

/// A started child.
pub struct Child {
    pub pid: libc::pid_t,
    pub pidfd: OwnedFd,
    /// CLOCK_MONOTONIC_RAW just before exec, ns.
    pub start_ns: i64,
}

#[repr(C)]
struct Report {
    start_ns: AtomicI64,
    stage: AtomicI32,
    errno: AtomicI32,
}

struct Entry<'a> {
    order: &'a Order<'a>,
    report: *const Report,
    parent: libc::pid_t,
}

const STACK: usize = 256 * 1024;

/// Starts children, one after another. Holds the stack they start on and the page they report through.
pub struct Starter {
    stack: *mut c_void,
    report: *const Report,
    pid: libc::pid_t,
}

impl Starter {
    /// Map the stack and the page.
    pub fn new() -> io::Result<Self> {
        let map = |size: usize, kind: c_int| {
            // SAFETY: an anonymous mapping at an address of the kernel's choice.
            let at = unsafe {
                let protection = libc::PROT_READ | libc::PROT_WRITE;
                libc::mmap(ptr::null_mut(), size, protection, kind | libc::MAP_ANONYMOUS, -1, 0)
            };
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(at)
        };
        let stack = map(STACK, libc::MAP_PRIVATE | libc::MAP_STACK)?;
        // SAFETY: the lowest page of our own mapping becomes the guard below the stack.
        checked(unsafe { libc::mprotect(stack, 4096, libc::PROT_NONE) })?;
        let report = map(4096, libc::MAP_SHARED)?.cast_const().cast();
        // SAFETY: getpid cannot fail.
        Ok(Self { stack, report, pid: unsafe { libc::getpid() } })
    }

    /// Start a child and wait until it runs the program; an error means that nothing runs.
    pub fn start(&mut self, order: &Order) -> Result<Child, StartError> {
        // SAFETY: the page is mapped for as long as self lives and holds only atomics, valid at all-zero.
        let report = unsafe { &*self.report };
        report.stage.store(-1, Ordering::Relaxed);
        report.start_ns.store(0, Ordering::Relaxed);
        let flags = match (&order.image, order.user) {
            (Image::Kernel(..), _) => 0,
            (_, Some(_)) => libc::CLONE_VFORK,
            _ => libc::CLONE_VFORK | libc::CLONE_VM,
        };
        let entry = Entry { order, report: self.report, parent: self.pid };
        let mut pidfd: c_int = -1;
        // SAFETY: the stack is ours and not in use, as no child that shares memory outlives this call (CLONE_VFORK);
        // `entry` lives until the child has exec'ed, exited, or runs in a copy of this memory.
        let pid = unsafe {
            libc::clone(
                enter,
                self.stack.byte_add(STACK),
                flags | libc::CLONE_PIDFD | libc::SIGCHLD,
                ptr::from_ref(&entry).cast_mut().cast(),
                &mut pidfd as *mut c_int,
            )
        };
        if pid < 0 {
            return Err(StartError::Clone(io::Error::last_os_error()));
        }
        // SAFETY: the kernel has just given us this descriptor (close-on-exec by itself).
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        if flags == 0 {
            // A kernel's child does not exec: wait for its time stamp, or its end.
            while report.start_ns.load(Ordering::Acquire) == 0 && !ended(&pidfd) {}
        }
        let stage = report.stage.load(Ordering::Acquire);
        if stage >= 0 {
            // SAFETY: our own child, which has exited or is about to.
            unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
            let error = io::Error::from_raw_os_error(report.errno.load(Ordering::Acquire));
            let stage = Stage::of(stage as usize);
            return Err(match stage {
                Stage::Setting(number) => {
                    StartError::Setting { name: order.settings.name(number).unwrap_or("?"), error }
                }
                stage => StartError::Child { stage, error },
            });
        }
        Ok(Child { pid, pidfd, start_ns: report.start_ns.load(Ordering::Acquire) })
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        // SAFETY: both mappings are ours and no child uses them any more.
        unsafe {
            libc::munmap(self.stack, STACK);
            libc::munmap(self.report.cast_mut().cast(), 4096);
        }
    }
}

fn ended(pidfd: &OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one live pollfd; a millisecond so that waiting for the time stamp does not spin for long.
    unsafe { libc::poll(&mut poll, 1, 1) != 0 }
}

/// The child's whole life before the program. Runs on its own stack, perhaps in the agent's memory.
extern "C" fn enter(argument: *mut c_void) -> c_int {
    // SAFETY: `start` passes a pointer to an Entry that outlives this function.
    let entry = unsafe { &*argument.cast_const().cast::<Entry>() };
    // SAFETY: the page is mapped in both processes.
    let report = unsafe { &*entry.report };
    let stage = become_program(entry, report);
    // SAFETY: errno is this thread's; a failed call has just set it.
    report.errno.store(unsafe { *libc::__errno_location() }, Ordering::Release);
    report.stage.store(stage.number() as i32, Ordering::Release);
    // SAFETY: ends this process only, without running the parent's exit handlers.
    unsafe { libc::_exit(127) }
}

/// Returns only when a step failed, with errno set.
fn become_program(entry: &Entry, report: &Report) -> Stage {
    let order = entry.order;
    // SAFETY: plain system calls on values that live through them; signal tables are not shared (no CLONE_SIGHAND).
    unsafe {
        // Ignored signals and masks would be inherited by the program.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        libc::setpgid(0, 0);
        if !order.settings.enter() {
            return Stage::Group;
        }
        if let Err(which) = order.settings.apply() {
            return Stage::Setting(which);
        }
        if let Some(user) = order.user {
            // Raw calls: the C library's wrappers would change all threads of a shared address space.
            let (uid, gid) = (user.uid, user.gid);
            if libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) != 0
                || libc::syscall(libc::SYS_setresgid, gid, gid, gid) != 0
                || libc::syscall(libc::SYS_setresuid, uid, uid, uid) != 0
            {
                return Stage::User;
            }
        }
        // After the change of user, which clears it. The parent may have died just before.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != entry.parent {
            libc::_exit(127);
        }
        if let Some(directory) = order.directory {
            if libc::chdir(directory.as_ptr()) != 0 {
                return Stage::Directory;
            }
        }
        let input = match order.input {
            None => order.null,
            Some(path) => libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC),
        };
        if input < 0 {
            return Stage::Input;
        }
        for (from, to) in [(input, 0), (order.stdout, 1), (order.stderr, 2)] {
            if libc::dup2(from, to) < 0 {
                return Stage::Streams;
            }
        }
        match order.image {
            Image::Exec { path, argv, envp } => {
                report.start_ns.store(now_ns(), Ordering::Release);
                libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr());
                Stage::Exec
            }
            Image::Kernel(Kernel::Add, iterations) => {
                report.start_ns.store(now_ns(), Ordering::Release);
                add(iterations);
                libc::_exit(0)
            }
            Image::Kernel(Kernel::Read, iterations) => {
                let Some(table) = table() else { libc::_exit(1) };
                report.start_ns.store(now_ns(), Ordering::Release);
                read(table, iterations);
                libc::_exit(0)
            }
        }
    }
}

/// Bytes of the table that is read: more than the caches of a processor hold for one program.
const TABLE: usize = 64 * 1024 * 1024;

/// A table whose pages are there; none where the machine has not so much memory to give.
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

/// The sum of the table, so many times.
fn read(table: &[u64], iterations: u64) {
    for _ in 0..iterations {
        let sum = std::hint::black_box(table).iter().fold(0_u64, |sum, each| sum.wrapping_add(*each));
        std::hint::black_box(sum);
    }
}

/// Dependent additions: each needs the one before, so the time is the number of cycles.
fn add(iterations: u64) {
    let mut value = 0_u64;
    for index in 0..iterations {
        value = std::hint::black_box(value.wrapping_add(index));
    }
    std::hint::black_box(value);
}
