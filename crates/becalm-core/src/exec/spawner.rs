//! A small process that starts programs, so that they do not begin with the agent's size.
//!
//! The kernel carries the largest resident set of a process across execve(2) (fs/exec.c: exec_mmap raises
//! `signal->maxrss` to that of the memory it leaves), so a program shows at least that of the process that
//! started it. The spawner is forked while the agent is small, and stays small: it runs only `serve`.
//!
//! Its children are the agent's own (CLONE_PARENT), which therefore reaps them. It shares the agent's
//! descriptors (CLONE_FILES), and its requests are in memory of both (`Arena`). A child shares the spawner's
//! memory until it becomes the program (CLONE_VM), except when the user changes: a process of another user
//! must never own the memory of one of root's. The agent does not wait for exec: it watches the child from
//! its first moment on, even one that hangs in opening its input. (Having the spawner add the child's pidfd
//! to an epoll set, so that the agent need not wait even for the clone, was tried: it takes longer.)

mod process;

use std::ffi::{c_char, c_int, CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::account::RunQueue;
use super::arena::Arena;
use super::child::{Begin, Image, Report, Stage};
use super::futex::{sleep, wake};
use super::gate::{Gate, SharedGate};
use super::poll::readable;
use super::prepare::Preparation;
use super::program::{self, Entries, Environment};
use super::stack::Stack;
use super::user::User;
use super::{checked, now_ns, tree};
use crate::types::Kernel;
use process::{begin_in, serve, Mailbox, Start};

/// The largest request, bytes: the kernel accepts 6 MiB of arguments and environment at most (execve(2)).
const LARGEST: usize = 8 << 20;

/// The largest size, bytes, of the data of a child that shares the spawner's memory, which would grow by
/// reading more.
const SMALL: usize = 256 << 10;

/// The time that starting a process may take before the spawner is given up, ns.
const PATIENCE_NS: i64 = 10_000_000_000;

/// The time between two checks of the spawner during that, ns.
const LOOK_NS: i64 = 200_000_000;

/// The reason why a child never became the program.
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

/// The code that the child runs.
pub enum Executable<'a> {
    Program {
        path: &'a CStr,
        arguments: &'a [CString],
        environment: &'a Environment,
        /// Bytes of padding in the environment.
        padding: usize,
        /// The number of the run, which is in its environment.
        run: Option<u64>,
    },
    /// A built-in kernel, and its number of iterations.
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

/// The side of a child that runs at the same time as another one.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The only CPU that it may run on; None: its settings decide.
    pub cpu: Option<u32>,
    /// The gate at which it waits for the other one; None: it begins at once.
    pub gate: Option<&'a Gate>,
}

impl Side<'_> {
    /// The side of a child that runs by itself.
    pub const NONE: Self = Side { cpu: None, gate: None };
}

/// A child that was started, and may not have become the program yet.
pub struct Child {
    pub pid: libc::pid_t,
    pub pidfd: OwnedFd,
    /// CLOCK_MONOTONIC_RAW when it was requested, ns.
    pub asked_ns: i64,
}

/// The agent's side of the spawner.
pub struct Spawner {
    arena: Arena,
    mailbox: NonNull<Mailbox>,
    /// The bytes of the arena that the mailbox takes.
    mailbox_size: usize,
    base: Option<Base>,
    pid: libc::pid_t,
    pidfd: OwnedFd,
    number: u32,
    lost: bool,
}

/// The environment that programs share, in the arena after the mailbox.
struct Base {
    entries: Rc<Entries>,
    pointers: Vec<*const c_char>,
    used: usize,
}

impl Spawner {
    /// Fork the spawner. It keeps the present size of this process, so this should be done first of all;
    /// signals that are blocked now are blocked in it. `group` is the directory of a control group of version
    /// 2 in which it begins if the kernel allows that (from 5.7 on); otherwise it is in the group of this
    /// process.
    pub fn new(group: Option<RawFd>) -> io::Result<Self> {
        Self::create(group, tree::spare)
    }

    /// Fork two spawners, whose children can wait for each other at a gate.
    pub fn twins(group: Option<RawFd>) -> io::Result<(Self, Self, SharedGate)> {
        let gate = SharedGate::new()?;
        Ok((Self::new(group)?, Self::create(group, tree::spare_twin)?, gate))
    }

    fn create(group: Option<RawFd>, spare: fn(libc::pid_t)) -> io::Result<Self> {
        let mut arena = Arena::new(LARGEST)?;
        let room = [0_u64; size_of::<Mailbox>().div_ceil(size_of::<u64>())];
        // All zero is a valid Mailbox, and the arena has room for it.
        let mailbox = arena.put(&room).ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?.cast::<Mailbox>();
        let stacks = [Stack::new()?, Stack::new()?];
        // SAFETY: cannot fail.
        let parent = unsafe { libc::getpid() };
        let start = Start { mailbox, stack: stacks[1].top(), parent };
        let mut pidfd: c_int = -1;
        // It sends no signal at its end, so that waiting for programs (`tree::sweep`) never finds the spawner
        // (wait(2), __WCLONE).
        let flags = libc::CLONE_FILES | libc::CLONE_PIDFD;
        let argument = ptr::from_ref(&start).cast_mut().cast();
        let begun = group.and_then(|group| begin_in(group, flags, argument, &mut pidfd).ok());
        let pid = match begun {
            Some(pid) => pid,
            // SAFETY: the new process has a copy of this memory, `start` included, and its own stack; it makes
            // system calls alone.
            None => checked(unsafe { libc::clone(serve, stacks[0].top(), flags, argument, &raw mut pidfd) })?,
        };
        // SAFETY: the kernel has just given us this descriptor (close-on-exec by itself).
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        spare(pid);
        let mailbox_size = arena.used();
        Ok(Self { arena, mailbox, mailbox_size, base: None, pid, pidfd, number: 0, lost: false })
    }

    /// Return the process that starts programs: events that are counted for it and inherited are counted for
    /// them.
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Start a child. Whether it became the program is known when it has ended (`begun`).
    pub fn start(&mut self, request: &SpawnRequest) -> Result<Child, SpawnError> {
        self.start_on(request, Side::NONE)
    }

    /// Start a child on a side. With a gate, `ended_ns` must be called for the child before the next one is
    /// started.
    pub fn start_on(&mut self, request: &SpawnRequest, side: Side) -> Result<Child, SpawnError> {
        if self.lost {
            return Err(SpawnError::Lost);
        }
        let asked_ns = now_ns();
        let (mut begin, flags) = self.lay_out(request).ok_or_else(too_long)?;
        begin.cpu = side.cpu.and_then(|cpu| c_int::try_from(cpu).ok()).unwrap_or(-1);
        begin.gate = side.gate.map_or(ptr::null(), ptr::from_ref);
        let mailbox = self.mailbox.as_ptr();
        // SAFETY: the mailbox is mapped as long as the arena, and the spawner reads it only between request and reply.
        unsafe {
            (*mailbox).begin = begin;
            (*mailbox).flags = flags;
            (*mailbox).report.clear();
        }
        self.number = self.number.wrapping_add(1);
        // SAFETY: as above.
        let (asked, reply) = unsafe { (&(*mailbox).request, &(*mailbox).reply) };
        asked.store(self.number, Ordering::Release);
        wake(asked);
        self.wait(reply, self.number)?;
        // SAFETY: the spawner has written both, and waits for the next request.
        let (pid, pidfd) = unsafe { ((*mailbox).pid.load(Ordering::Acquire), (*mailbox).pidfd) };
        if pid < 0 {
            return Err(SpawnError::Clone(io::Error::from_raw_os_error(-pid)));
        }
        // SAFETY: the kernel has just put this descriptor into the table that both share.
        Ok(Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) }, asked_ns })
    }

    /// Wait for the reply; a spawner that is gone, or was stopped by somebody, never replies.
    fn wait(&mut self, reply: &AtomicU32, number: u32) -> Result<(), SpawnError> {
        let given_up_ns = now_ns() + PATIENCE_NS;
        loop {
            let last = reply.load(Ordering::Acquire);
            if last == number {
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

    /// Return when the spawner, on the CPU of its child, noticed the end of a child with a gate,
    /// CLOCK_MONOTONIC_RAW, ns. The child must have ended.
    pub fn ended_ns(&mut self) -> Result<i64, SpawnError> {
        // SAFETY: the mailbox is mapped as long as self lives; these are atomics.
        let (watched, ended_ns) = unsafe {
            let mailbox = self.mailbox.as_ptr();
            (&(*mailbox).watched, &(*mailbox).ended_ns)
        };
        self.wait(watched, self.number)?;
        Ok(ended_ns.load(Ordering::Acquire))
    }

    /// Return when the child became the program, CLOCK_MONOTONIC_RAW just before execve, ns; None if it has
    /// not, yet or at all.
    pub fn begun_ns(&self) -> Option<i64> {
        Some(self.report().begun_ns.load(Ordering::Acquire)).filter(|at| *at != 0)
    }

    /// Return how long a finished child had run and waited before it became the program: next to a load, a new process
    /// waits for a CPU before its time begins.
    pub fn early(&self) -> RunQueue {
        self.report().early()
    }

    /// Return the same for a child that has ended, or the reason why it never became the program. `settings`
    /// are those that it should have applied.
    pub fn begun(&self, settings: &Preparation) -> Result<Option<i64>, SpawnError> {
        let Some((stage, error)) = self.report().failure() else { return Ok(self.begun_ns()) };
        Err(match stage {
            Stage::Setting(number) => {
                SpawnError::Setting { name: settings.name(number).unwrap_or("?"), error }
            }
            stage => SpawnError::Child { stage, error },
        })
    }

    /// Return whether the child never became the program: a setting or a file was refused.
    pub fn has_failed(&self) -> bool {
        self.report().failure().is_some()
    }

    fn report(&self) -> &Report {
        // SAFETY: the mailbox is mapped as long as self lives, and a report has atomics alone.
        unsafe { &(*self.mailbox.as_ptr()).report }
    }

    /// Lay out everything that the child needs in shared memory; return it and the flags of its clone, None
    /// when there is not enough room.
    fn lay_out(&mut self, request: &SpawnRequest) -> Option<(Begin, c_int)> {
        self.arena.cut(self.base.as_ref().map_or(self.mailbox_size, |base| base.used));
        if let Executable::Program { environment, .. } = request.executable {
            self.lay_out_base(&environment.base)?;
        }
        let Self { arena, base, .. } = self;
        let mut optional = |text: Option<&CStr>| text.map_or(Some(ptr::null()), |text| arena.string(text));
        let (directory, input) = (optional(request.directory)?, optional(request.input)?);
        let image = match request.executable {
            Executable::Kernel(kernel, iterations) => Image::Kernel(kernel, iterations),
            Executable::Program { path, arguments, environment, padding, run } => {
                // Without padding there is no variable for it.
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
            cpu: -1,
            gate: ptr::null(),
        };
        // A kernel stays in this memory, and would make it larger.
        let small = matches!(image, Image::Exec { .. }) && request.user.is_none() && arena.used() <= SMALL;
        Some((begin, if small { libc::CLONE_VM } else { 0 }))
    }

    /// Lay out the environment that programs share, unless it is there, and make room after it.
    fn lay_out_base(&mut self, entries: &Rc<Entries>) -> Option<()> {
        if self.base.as_ref().is_none_or(|base| !Rc::ptr_eq(&base.entries, entries)) {
            self.base = None;
            self.arena.cut(self.mailbox_size);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn where_it_may_not_begin_in_a_group_it_begins_where_this_process_is() {
        // The same happens with kernels before 5.7, or with a group that has gone.
        let directory = File::open("/").unwrap();
        let spawner = Spawner::new(Some(directory.as_raw_fd())).unwrap();
        let group = |pid: libc::pid_t| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        // SAFETY: cannot fail.
        assert_eq!(group(spawner.pid()), group(unsafe { libc::getpid() }));
    }
}
