//! Processes that outlive the agent: the guard, which restores settings when the agent is killed, and two
//! keepers. One keeper holds a device open while settings stay on after the agent has ended, the other waits
//! until interrupts are back where they were.
//!
//! Each is forked twice, so that it is nobody's child and no signal to the agent's group or session reaches
//! it. The guard has a copy of the lock: nobody else changes the machine between the agent's death and the
//! guard's end.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use crate::away::settle;
use crate::journal;
use crate::pidfd;
use crate::place::{Place, KEEPER};
use crate::recover::clear_unnamed;
use crate::restore::unsettled;
use crate::task::start_and_state;
use crate::tree::{checked, Tree};
use crate::unmounted;

/// Time that the agent waits for a guard that is no longer needed, ms.
const PATIENCE_MS: i32 = 2_000;

/// Time that the guard waits until a killed agent has ended, ms: the agent's end of the pipe is closed some
/// time before that, on a busy machine a second.
const END_MS: i32 = 10_000;

/// Time for which an ended thread may still be listed, on a busy emulated machine.
const GONE: Duration = Duration::from_millis(1_000);

/// The data that the guard copies from the agent before it outlives it.
#[derive(Clone)]
pub struct GuardContext {
    /// The clock that dates its report: Unix time, s.
    pub patience: Duration,
    /// The Unix time, s, for the date of its report.
    pub now: Rc<dyn Fn() -> u64>,
    /// Called when the agent that was killed has ended.
    pub after: fn(),
}

/// A running guard. It acts when this is dropped, or when the agent ends, unless it was dismissed before.
pub struct Guard {
    /// Our end of the pipe to the guard, which notices when it is closed.
    line: File,
    process: OwnedFd,
}

impl Guard {
    /// Start a guard for a machine. `lock` is a descriptor that the guard keeps open.
    pub fn start(tree: &Tree, lock: RawFd, context: &GuardContext) -> io::Result<Self> {
        let (read, write) = pipe()?;
        let (tree, context) = (tree.clone(), context.clone());
        let agent = pidfd::open(std::process::id() as i32)?;
        let process = outlive(&[read.as_raw_fd(), lock, agent.as_raw_fd()], "becalm-guard", move |kept| {
            if watch(kept[0], &agent, &tree, &context) {
                // Nobody who wants to change the machine has to wait for this process.
                close(kept[1], kept[1]);
                drop(settle(&tree, context.patience, true));
            }
        })?;
        Ok(Self { line: write.into(), process: process.1 })
    }

    /// Return whether it still runs.
    pub fn alive(&self) -> bool {
        !pidfd::has_ended(&self.process, 0)
    }

    /// Dismiss the guard and wait until it has ended: its copy of the lock is closed with it.
    pub fn dismiss(mut self) {
        // A guard that cannot be written to has ended already.
        drop(self.line.write_all(b"."));
        pidfd::has_ended(&self.process, PATIENCE_MS);
    }
}

/// Start a process that keeps a device open until it is killed; return it as a place, and a line to it. It
/// ends by itself when the line is closed before anything was written to it: nobody would know of it.
pub fn keeper(device: &File) -> io::Result<(Place, File)> {
    let (read, write) = pipe()?;
    let (pid, _) = outlive(&[read.as_raw_fd(), device.as_raw_fd()], KEEPER, |kept| {
        // SAFETY: the descriptor is this process's own copy; the set is initialised before use.
        unsafe {
            // The agent blocks signals that ask it to end; a machine that shuts down sends one.
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            if matches!(File::from_raw_fd(kept[0]).read(&mut [0]), Ok(1)) {
                loop {
                    libc::pause();
                }
            }
        }
    })?;
    let (start, _) =
        start_and_state(&Tree::running(), pid).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    Ok((Place::Process { pid, start, name: KEEPER.to_owned() }, write.into()))
}

/// Start a process that waits until the interrupts under way have arrived.
pub fn wait_for_interrupts(tree: &Tree, patience: Duration) -> io::Result<()> {
    let tree = tree.clone();
    outlive(&[], KEEPER, move |_| drop(settle(&tree, patience, true)))?;
    Ok(())
}

/// Wait until the agent dismisses its guard or ends; return whether it has dismissed it.
///
/// It does not wait for the end of the line alone, which comes late while somebody else has a copy of the agent's end: a
/// child that has not become its program yet has one.
fn is_dismissed(line: RawFd, agent: RawFd) -> bool {
    let poll = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut both = [poll(line), poll(agent)];
    // SAFETY: two live pollfds. It fails after a signal, or where the kernel lacks memory for a moment.
    while unsafe { libc::poll(both.as_mut_ptr(), 2, -1) } < 0 {
        thread::sleep(Duration::from_millis(1));
    }
    // The agent may have written just before it ended, so the line is looked at after its end.
    let mut only = poll(line);
    // SAFETY: a live pollfd; the descriptor is this process's own copy.
    unsafe { libc::poll(&mut only, 1, 0) == 1 && File::from_raw_fd(line).read_exact(&mut [0]).is_ok() }
}

/// Run the guard: wait until the agent dismisses it or ends without doing so; then restore what is in the
/// journal. Return whether it was needed.
fn watch(line: RawFd, agent: &OwnedFd, tree: &Tree, context: &GuardContext) -> bool {
    if is_dismissed(line, agent.as_raw_fd()) {
        return false;
    }
    let left_behind = journal::load(tree).ok().flatten().is_some_and(|found| found.kept.is_none());
    if left_behind {
        let message = match clear_unnamed(tree, (context.now)()) {
            Ok(recovered) => std::iter::once(recovered.sentence)
                .chain(unsettled(&recovered.places))
                .collect::<Vec<_>>()
                .join("\n"),
            Err(error) => error.to_string(),
        };
        drop(journal::note(
            tree,
            &format!("becalm's agent was ended before it had restored everything. {message}"),
        ));
    }
    // After the restore, which matters more.
    pidfd::has_ended(agent, END_MS);
    (context.after)();
    true
}

/// Return whether this process has one thread, now or soon. A thread that was joined is listed for a moment
/// longer: the kernel wakes the thread that joins it in `mm_release`, and removes it from the list in
/// `release_task` (kernel/fork.c, kernel/exit.c).
fn alone(tasks: &Path) -> bool {
    at_most_one(GONE, || fs::read_dir(tasks).map_or(0, Iterator::count))
}

/// Return whether a count falls to one within a time.
fn at_most_one(patience: Duration, mut count: impl FnMut() -> usize) -> bool {
    let end = Instant::now() + patience;
    while count() > 1 {
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Run `life` in a process that is nobody's child, with only these descriptors open; return its number and
/// pidfd.
fn outlive(keep: &[RawFd], name: &str, life: impl FnOnce(&[RawFd])) -> io::Result<(i32, OwnedFd)> {
    // Another thread might hold a lock of the allocator, which would stay locked in the copy for ever.
    if !alone(Path::new("/proc/self/task")) {
        return Err(io::Error::other(
            "a process that is to outlive the agent was asked for next to another thread",
        ));
    }
    let (read, write) = pipe()?;
    // An orphan would become the child of its nearest subreaper, which an agent is. No workload runs now.
    let mut adopts: libc::c_int = 0;
    // SAFETY: a live pointer; then no pointers.
    unsafe {
        checked(libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &mut adopts))?;
        checked(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 0 as libc::c_ulong))?;
    }
    // SAFETY: this process has one thread, so the child may do anything.
    let middle = unsafe { libc::fork() };
    if middle == 0 {
        // SAFETY: as above; the middle process only lets go of its child.
        unsafe {
            libc::setsid();
            if libc::fork() != 0 {
                libc::_exit(0);
            }
        }
        enter(keep, name, write, life);
    }
    let forked = if middle < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    drop(write);
    if forked.is_ok() {
        // SAFETY: our own child, which ends at once.
        unsafe { libc::waitpid(middle, std::ptr::null_mut(), 0) };
    }
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, adopts as libc::c_ulong) })?;
    forked?;
    let mut number = [0; 4];
    File::from(read).read_exact(&mut number).map_err(|_| {
        io::Error::other(format!(
            "{name} has not begun: no more processes can be started, or somebody ended it"
        ))
    })?;
    let pid = i32::from_ne_bytes(number);
    Ok((pid, pidfd::open(pid)?))
}

/// Set up the new process: a name, no descriptors except its own, no working directory; report its number, and run its
/// life.
fn enter(keep: &[RawFd], name: &str, report: OwnedFd, life: impl FnOnce(&[RawFd])) -> ! {
    // SAFETY: plain system calls on descriptors of this process alone; the name ends with a zero.
    unsafe {
        // Named before any other process can see it.
        let mut short = [0_u8; 16];
        short[..name.len().min(15)].copy_from_slice(&name.as_bytes()[..name.len().min(15)]);
        libc::prctl(libc::PR_SET_NAME, short.as_ptr(), 0, 0, 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for stream in 0..3 {
            libc::dup2(null, stream);
        }
        // Sockets, pipes and devices of becalm must not stay open because of this process.
        let mut kept = [keep, &unmounted::descriptors(), &[report.as_raw_fd()]].concat();
        kept.sort_unstable();
        let mut first = 3;
        for descriptor in kept {
            if descriptor > first {
                close(first, descriptor - 1);
            }
            first = descriptor + 1;
        }
        close(first, RawFd::MAX);
        libc::chdir(c"/".as_ptr());
        // Last: whoever reads it may rely on all of this.
        drop(File::from(report).write_all(&libc::getpid().to_ne_bytes()));
    }
    life(keep);
    // SAFETY: ends this process without the agent's exit handlers.
    unsafe { libc::_exit(0) }
}

/// Close a range of descriptors; one by one before Linux 5.9, which brought close_range(2).
fn close(first: RawFd, last: RawFd) {
    // SAFETY: of this process alone, which uses none of them.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
            for descriptor in first..=last.min(65_536) {
                libc::close(descriptor);
            }
        }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which are new and ours.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_ended_may_be_listed_a_moment_longer() {
        let mut counts = [3, 2, 1].into_iter();
        assert!(at_most_one(Duration::from_secs(300), || counts.next().unwrap()));
        assert_eq!(counts.len(), 0, "it was looked at until there was one");
        assert!(!at_most_one(Duration::ZERO, || 2), "one that goes on");
    }

    #[test]
    fn threads_are_counted_by_their_directories() {
        let tasks = std::env::temp_dir().join(format!("becalm-tasks-{}", std::process::id()));
        fs::create_dir_all(tasks.join("1")).unwrap();
        assert!(alone(&tasks));
        fs::remove_dir_all(&tasks).unwrap();
        assert!(alone(&tasks), "what cannot be read has none");
    }
}
