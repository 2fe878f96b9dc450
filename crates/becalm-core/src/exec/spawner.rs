//! A small process that starts programs, so that they do not begin with the agent's size.
//!
//! The kernel carries the largest resident set of a process across execve(2) (fs/exec.c: exec_mmap raises
//! `signal->maxrss` by that of the memory it leaves), so a program shows at least that of whatever started it. The
//! spawner is forked while the agent is small, and stays so: it runs what `serve` does and nothing else.
//!
//! Its children are the agent's own (CLONE_PARENT), which therefore reaps them. It shares the agent's descriptors
//! (CLONE_FILES), and what it is told lies in memory of both (`Arena`). A child shares the spawner's memory until it
//! becomes the program (CLONE_VM), but not when the user changes: a process of another user must never own the memory of
//! one of root's. Nobody waits for that: the agent watches the child from its first moment on, also one that hangs in
//! opening its input. (Having the spawner put the child's pidfd into an epoll set, so that the agent need not wait even
//! for the clone, was tried: it takes longer.)

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::account::RunQueue;
use super::arena::Arena;
use super::child::{become_program, Begin, Image, Report, Stage};
use super::poll::readable;
use super::prepare::Preparation;
use super::program::{self, Entries, Environment};
use super::stack::Stack;
use super::user::User;
use super::{checked, now_ns, tree};
use crate::types::Kernel;

/// What is asked for is at most this large: a kernel takes 6 MiB of arguments and environment at most (execve(2)).
const LARGEST: usize = 8 << 20;

/// A child that needs more than this does not share the spawner's memory, which would grow by reading it.
const SMALL: usize = 256 << 10;

/// How long starting a process may take before the spawner is given up.
const PATIENCE_NS: i64 = 10_000_000_000;

/// include/uapi/linux/sched.h; what libc calls so has no room for it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// How often it is looked at meanwhile, ns.
const LOOK_NS: i64 = 200_000_000;

/// Why a child never became the program.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("a process could not be created: {0}")]
    Clone(io::Error),
    #[error("the process that starts programs was ended by somebody, or does not answer")]
    Lost,
    #[error("{stage:?}: {error}")]
    Child { stage: Stage, error: io::Error },
    /// The kernel refused the setting of this name.
    #[error("{name}: {error}")]
    Setting { name: &'static str, error: io::Error },
}

/// What runs in the child.
pub enum Executable<'a> {
    Program {
        path: &'a CStr,
        arguments: &'a [CString],
        environment: &'a Environment,
        /// Bytes of padding in the environment.
        padding: usize,
        /// The number of the run, which its environment tells.
        run: Option<u64>,
    },
    /// A built-in kernel, so many times.
    Kernel(Kernel, u64),
}

/// Everything about one child.
pub struct SpawnRequest<'a> {
    pub executable: Executable<'a>,
    pub settings: &'a Preparation,
    pub user: Option<&'a User>,
    pub directory: Option<&'a CStr>,
    pub input: Option<&'a CStr>,
    pub null: RawFd,
    pub stdout: RawFd,
    pub stderr: RawFd,
}

/// A child that was started, and may not be the program yet.
pub struct Child {
    pub pid: libc::pid_t,
    pub pidfd: OwnedFd,
    /// CLOCK_MONOTONIC_RAW when it was asked for, ns.
    pub asked_ns: i64,
}

/// What both processes see.
#[repr(C)]
struct Desk {
    /// Numbers of the last request and the last reply: futexes.
    request: AtomicU32,
    reply: AtomicU32,
    /// The child, or minus the error of creating it.
    pid: AtomicI32,
    pidfd: c_int,
    flags: c_int,
    begin: Begin,
    report: Report,
}

/// The agent's end.
pub struct Spawner {
    arena: Arena,
    desk: NonNull<Desk>,
    /// What the desk takes of the arena.
    desk_size: usize,
    base: Option<Base>,
    pid: libc::pid_t,
    pidfd: OwnedFd,
    number: u32,
    lost: bool,
}

/// The environment that programs share, in the arena after the desk.
struct Base {
    entries: Rc<Entries>,
    pointers: Vec<*const c_char>,
    used: usize,
}

/// What the spawner is given at its start.
struct Start {
    desk: NonNull<Desk>,
    stack: *mut c_void,
    parent: libc::pid_t,
}

impl Spawner {
    /// Fork it. Its size is that of this process now, so this should be done first of all; signals that are blocked now
    /// are blocked in it. `group`: the directory of a control group of version 2 that it begins in, where the kernel lets
    /// it (from 5.7 on); where not, it is where this process is.
    pub fn new(group: Option<RawFd>) -> io::Result<Self> {
        let mut arena = Arena::new(LARGEST)?;
        let room = [0_u64; size_of::<Desk>().div_ceil(size_of::<u64>())];
        // All zero is a valid Desk, and the arena has room for it.
        let desk = arena.put(&room).ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?.cast::<Desk>();
        let stacks = [Stack::new()?, Stack::new()?];
        // SAFETY: cannot fail.
        let parent = unsafe { libc::getpid() };
        let start = Start { desk, stack: stacks[1].top(), parent };
        let mut pidfd: c_int = -1;
        // No signal at its end, so that waiting for programs (`tree::sweep`) never finds the spawner (wait(2), __WCLONE).
        let flags = libc::CLONE_FILES | libc::CLONE_PIDFD;
        let argument = ptr::from_ref(&start).cast_mut().cast();
        let begun = group.and_then(|group| begin_in(group, flags, argument, &mut pidfd).ok());
        let pid = match begun {
            Some(pid) => pid,
            // SAFETY: the new process has a copy of this memory, `start` included, and its own stack; it makes system calls
            // alone.
            None => checked(unsafe { libc::clone(serve, stacks[0].top(), flags, argument, &raw mut pidfd) })?,
        };
        // SAFETY: the kernel has just given us this descriptor (close-on-exec by itself).
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        tree::spare(pid);
        let desk_size = arena.used();
        Ok(Self { arena, desk, desk_size, base: None, pid, pidfd, number: 0, lost: false })
    }

    /// The process that starts programs: what is counted of it and inherited is counted of them.
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Start a child. Whether it became the program is known when it has ended (`begun`).
    pub fn start(&mut self, request: &SpawnRequest) -> Result<Child, SpawnError> {
        if self.lost {
            return Err(SpawnError::Lost);
        }
        let asked_ns = now_ns();
        let (begin, flags) = self.lay_out(request).ok_or_else(too_long)?;
        let desk = self.desk.as_ptr();
        // SAFETY: the desk is mapped as long as the arena, and the spawner reads it only between request and reply.
        unsafe {
            (*desk).begin = begin;
            (*desk).flags = flags;
            (*desk).report.clear();
        }
        self.number = self.number.wrapping_add(1);
        // SAFETY: as above.
        let (asked, reply) = unsafe { (&(*desk).request, &(*desk).reply) };
        asked.store(self.number, Ordering::Release);
        wake(asked);
        self.wait(reply)?;
        // SAFETY: the spawner has written both, and waits for the next request.
        let (pid, pidfd) = unsafe { ((*desk).pid.load(Ordering::Acquire), (*desk).pidfd) };
        if pid < 0 {
            return Err(SpawnError::Clone(io::Error::from_raw_os_error(-pid)));
        }
        // SAFETY: the kernel has just put this descriptor into the table that both share.
        Ok(Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) }, asked_ns })
    }

    /// Wait for the reply; a spawner that is gone, or was stopped by somebody, gives none.
    fn wait(&mut self, reply: &AtomicU32) -> Result<(), SpawnError> {
        let given_up_ns = now_ns() + PATIENCE_NS;
        loop {
            let last = reply.load(Ordering::Acquire);
            if last == self.number {
                return Ok(());
            }
            sleep(reply, last, LOOK_NS);
            if reply.load(Ordering::Acquire) != last {
                continue;
            }
            self.lost |= now_ns() > given_up_ns || readable(self.pidfd.as_raw_fd()).unwrap_or(true);
            if self.lost {
                self.end();
                return Err(SpawnError::Lost);
            }
        }
    }

    /// When the child became the program, CLOCK_MONOTONIC_RAW just before execve, ns; None: it has not, yet or at all.
    pub fn begun_ns(&self) -> Option<i64> {
        Some(self.report().begun_ns.load(Ordering::Acquire)).filter(|at| *at != 0)
    }

    /// What a child that has ended had run and waited before it became the program: beside a load a new process waits for
    /// its turn, before its time begins.
    pub fn early(&self) -> RunQueue {
        self.report().early()
    }

    /// The same for a child that has ended, or why it never became the program. `settings`: those that it was to get.
    pub fn begun(&self, settings: &Preparation) -> Result<Option<i64>, SpawnError> {
        let Some((stage, error)) = self.report().failure() else { return Ok(self.begun_ns()) };
        Err(match stage {
            Stage::Setting(number) => {
                SpawnError::Setting { name: settings.name(number).unwrap_or("?"), error }
            }
            stage => SpawnError::Child { stage, error },
        })
    }

    fn report(&self) -> &Report {
        // SAFETY: the desk is mapped as long as self lives, and a report has atomics alone.
        unsafe { &(*self.desk.as_ptr()).report }
    }

    /// Everything that the child needs, in shared memory, and how it is cloned; None when there is not so much room.
    fn lay_out(&mut self, request: &SpawnRequest) -> Option<(Begin, c_int)> {
        self.arena.cut(self.base.as_ref().map_or(self.desk_size, |base| base.used));
        if let Executable::Program { environment, .. } = request.executable {
            self.lay_out_base(&environment.base)?;
        }
        let Self { arena, base, .. } = self;
        let mut optional = |text: Option<&CStr>| text.map_or(Some(ptr::null()), |text| arena.string(text));
        let (directory, input) = (optional(request.directory)?, optional(request.input)?);
        let image = match request.executable {
            Executable::Kernel(kernel, iterations) => Image::Kernel(kernel, iterations),
            Executable::Program { path, arguments, environment, padding, run } => {
                // No padding, no variable.
                let padding = if padding == 0 { None } else { Some(program::padding(arena, padding)?) };
                let number = run.map(program::numbered);
                let names = environment.base.keys().zip(base.iter().flat_map(|base| &base.pointers));
                let shared = names.filter(|(name, _)| !environment.own.contains_key(*name));
                Image::Exec {
                    path: arena.string(path)?,
                    argv: arena.list([].into_iter(), arguments.iter().map(CString::as_c_str))?,
                    envp: arena.list(
                        shared.map(|(_, at)| *at).chain(padding),
                        environment.own.values().chain(number.iter().flatten()).map(CString::as_c_str),
                    )?,
                }
            }
        };
        let groups = request.user.map_or(&[][..], |user| &user.groups);
        let calls = request.settings.calls();
        let begin = Begin {
            image,
            join: request.settings.join.unwrap_or(-1),
            calls: (arena.put(calls)?.as_ptr(), calls.len()),
            user: request.user.map(|user| (user.uid, user.gid)),
            groups: (arena.put(groups)?.as_ptr(), groups.len()),
            directory,
            input,
            streams: [request.null, request.stdout, request.stderr],
            // SAFETY: cannot fail.
            parent: unsafe { libc::getpid() },
        };
        // A kernel runs on in this memory, which it would make larger.
        let small = matches!(image, Image::Exec { .. }) && request.user.is_none() && arena.used() <= SMALL;
        Some((begin, if small { libc::CLONE_VM } else { 0 }))
    }

    /// Have the environment that programs share laid out, and room after it.
    fn lay_out_base(&mut self, entries: &Rc<Entries>) -> Option<()> {
        if self.base.as_ref().is_none_or(|base| !Rc::ptr_eq(&base.entries, entries)) {
            self.base = None;
            self.arena.cut(self.desk_size);
            let pointers = entries.values().map(|entry| self.arena.string(entry)).collect::<Option<_>>()?;
            self.base = Some(Base { entries: entries.clone(), pointers, used: self.arena.used() });
        }
        Some(())
    }

    fn end(&self) {
        // SAFETY: our own child, not reaped yet or no more there; the status is not asked for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, ptr::null_mut(), libc::__WALL);
        }
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        if !self.lost {
            self.end();
        }
    }
}

fn too_long() -> SpawnError {
    SpawnError::Child { stage: Stage::Exec, error: io::Error::from_raw_os_error(libc::E2BIG) }
}

/// Begin the spawner in a control group (clone3(2)), on a copy of this process's stack.
fn begin_in(group: RawFd, flags: c_int, argument: *mut c_void, pidfd: &mut c_int) -> io::Result<libc::pid_t> {
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

/// The spawner's whole life.
extern "C" fn serve(argument: *mut c_void) -> c_int {
    // SAFETY: `Spawner::new` passes a pointer to a Start, of which this process has a copy.
    let Start { desk, stack, parent } = unsafe { ptr::read(argument.cast_const().cast::<Start>()) };
    let desk = desk.as_ptr();
    // SAFETY: plain system calls; the name ends with a zero. The parent may have died just before.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_NAME, c"becalm-spawner".as_ptr(), 0, 0, 0);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
    }
    let mut last = 0;
    loop {
        // SAFETY: the desk is mapped in this process as long as it lives.
        let asked = unsafe { &(*desk).request };
        while asked.load(Ordering::Acquire) == last {
            sleep(asked, last, 0);
        }
        last = asked.load(Ordering::Acquire);
        // SAFETY: the agent does not touch the desk until there is a reply. No child uses the stack any more: the agent
        // asks for the next one when the last has ended.
        unsafe {
            let flags = (*desk).flags | libc::CLONE_PARENT | libc::CLONE_PIDFD;
            let pidfd: *mut c_int = &raw mut (*desk).pidfd;
            let pid = libc::clone(enter, stack, flags, desk.cast(), pidfd);
            let pid = if pid < 0 { -*libc::__errno_location() } else { pid };
            (*desk).pid.store(pid, Ordering::Release);
            (*desk).reply.store(last, Ordering::Release);
            wake(&(*desk).reply);
        }
    }
}

/// The child's whole life before the program. Runs on its own stack, perhaps in the spawner's memory.
extern "C" fn enter(desk: *mut c_void) -> c_int {
    // SAFETY: `serve` passes the desk, which both have; what it is told to do is not changed while it lives.
    let (begin, report) = unsafe {
        let desk = desk.cast_const().cast::<Desk>();
        (&(*desk).begin, &(*desk).report)
    };
    let stage = become_program(begin, report);
    report.fail(stage);
    // SAFETY: ends this process only, without running anybody's exit handlers.
    unsafe { libc::_exit(127) }
}

/// Wait until somebody changes the word from `value` and wakes us, or so many ns are over (0: however long).
fn sleep(word: &AtomicU32, value: u32, timeout_ns: i64) {
    let time = libc::timespec { tv_sec: timeout_ns / 1_000_000_000, tv_nsec: timeout_ns % 1_000_000_000 };
    let timeout = if timeout_ns == 0 { ptr::null() } else { ptr::from_ref(&time) };
    // SAFETY: the word and the time live through the call. Whatever it says, the word is looked at again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, timeout) };
}

fn wake(word: &AtomicU32) {
    // SAFETY: the word lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn where_it_may_not_begin_in_a_group_it_begins_where_this_process_is() {
        // As with kernels before 5.7, or a group that has gone.
        let directory = File::open("/").unwrap();
        let spawner = Spawner::new(Some(directory.as_raw_fd())).unwrap();
        let group = |pid: libc::pid_t| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        // SAFETY: cannot fail.
        assert_eq!(group(spawner.pid()), group(unsafe { libc::getpid() }));
    }
}
