//! The end of a program with all its descendants, also those that left its process group or session.
//!
//! The agent is a subreaper (`adopt_orphans`): a descendant whose parent ends becomes the agent's own child.
//! So killing the descendants that are found, and looking again until none is left, misses none.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time to wait for killed processes to end; one in a disk wait cannot be hurried.
const PATIENCE: Duration = Duration::from_secs(10);

/// Become the parent of orphaned descendants (prctl(2), PR_SET_CHILD_SUBREAPER).
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: no pointers.
    super::checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// A child that is not part of any program: the spawner.
static SPARED: AtomicI32 = AtomicI32::new(0);

/// The spawner of the other program of a pair.
static TWIN: AtomicI32 = AtomicI32::new(0);

/// The process that generates known load next to programs.
static LOAD: AtomicI32 = AtomicI32::new(0);

/// The process that keeps the neighbours of a program running.
static STARTER: AtomicI32 = AtomicI32::new(0);

/// Leave this child alone when all others are ended.
pub fn spare(pid: libc::pid_t) {
    SPARED.store(pid, Ordering::Relaxed);
}

/// Leave the spawner of the other program of a pair alone, too.
pub fn spare_twin(pid: libc::pid_t) {
    TWIN.store(pid, Ordering::Relaxed);
}

/// Leave the process that generates load alone, too; 0: there is none.
pub fn spare_load(pid: libc::pid_t) {
    LOAD.store(pid, Ordering::Relaxed);
}

/// Leave the process that keeps a program's neighbours running alone, too; 0: there is none.
pub fn spare_starter(pid: libc::pid_t) {
    STARTER.store(pid, Ordering::Relaxed);
}

/// Return whether a process is one of those that are left alone.
pub(crate) fn is_spared(pid: libc::pid_t) -> bool {
    [&SPARED, &TWIN, &LOAD, &STARTER].iter().any(|spared| spared.load(Ordering::Relaxed) == pid)
}

/// Return becalm's own processes here: this one, and its spawners.
pub fn own() -> [u32; 3] {
    let own = std::process::id();
    // Without a spawner this process is named again.
    let spawner =
        |spared: &AtomicI32| u32::try_from(spared.load(Ordering::Relaxed)).ok().filter(|pid| *pid > 0);
    [own, spawner(&SPARED).unwrap_or(own), spawner(&TWIN).unwrap_or(own)]
}

/// Kill a child, its process group and all its descendants, parents first. Return when the signals are sent; what they
/// have started meanwhile is found by `sweep`.
///
/// Nobody is stopped first. If this process were killed between the two signals, they would stand still for ever, also a
/// child that has not become its program yet, which has copies of our descriptors.
pub fn kill_tree(pid: libc::pid_t) {
    let mut found = vec![pid];
    gather(pid, &mut found);
    // SAFETY: no pointers. A process that has gone is no error.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
    for each in found {
        // SAFETY: as above.
        unsafe { libc::kill(each, libc::SIGKILL) };
    }
}

/// The remains of a step.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Swept {
    /// Live descendants that were killed.
    pub killed: u32,
    /// Descendants that could not be killed, for lack of rights or because they hang in the kernel.
    pub remaining: Vec<libc::pid_t>,
}

/// Return how many descendants of this process the run with this number has left.
pub fn left(run: u64) -> u32 {
    if !reap_finished() {
        return 0;
    }
    let mut alive = Vec::new();
    // SAFETY: getpid cannot fail.
    gather(unsafe { libc::getpid() }, &mut alive);
    let entry = format!("BECALM_RUN={run}");
    let is_of_run =
        |pid: &&libc::pid_t| environment(**pid).split(|byte| *byte == 0).any(|text| text == entry.as_bytes());
    alive.iter().filter(is_of_run).count() as u32
}

/// Return the environment of a process; empty when it has none or is gone. One that calls execve(2) has none for a
/// moment, which is waited for.
fn environment(pid: libc::pid_t) -> Vec<u8> {
    let started = Instant::now();
    loop {
        match fs::read(format!("/proc/{pid}/environ")) {
            Ok(found) if found.is_empty() && in_execve(pid) && started.elapsed() < PATIENCE => {
                sleep(Duration::from_micros(200));
            }
            found => return found.unwrap_or_default(),
        }
    }
}

/// Return whether a process has its new memory but not yet its environment (fs/exec.c, begin_new_exec;
/// fs/binfmt_elf.c, load_elf_binary).
fn in_execve(pid: libc::pid_t) -> bool {
    let text = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let Some((_, rest)) = text.rsplit_once(')') else { return false };
    // State and endcode are fields 3 and 27 of proc_pid_stat(5). The kernel sets endcode after the environment, and
    // shows it as 1 to readers without permission. A process that has ended has no memory.
    let mut words = rest.split_ascii_whitespace();
    let state = words.next();
    !matches!(state, Some("Z" | "X")) && words.nth(27 - 4) == Some("0")
}

/// Kill all children of this process and their descendants, and reap them. Makes one system call when there
/// are none.
pub fn sweep() -> Swept {
    let mut seen: Vec<libc::pid_t> = Vec::new();
    let started = Instant::now();
    while reap_finished() {
        let mut alive = Vec::new();
        // SAFETY: getpid cannot fail.
        gather(unsafe { libc::getpid() }, &mut alive);
        for pid in alive {
            if !seen.contains(&pid) {
                seen.push(pid);
            }
            kill_tree(pid);
        }
        if started.elapsed() > PATIENCE {
            let mut remaining = Vec::new();
            // SAFETY: as above.
            gather(unsafe { libc::getpid() }, &mut remaining);
            return Swept { killed: seen.len().saturating_sub(remaining.len()) as u32, remaining };
        }
        sleep(Duration::from_micros(200));
    }
    Swept { killed: seen.len() as u32, remaining: Vec::new() }
}

/// Reap all children that have ended; return whether any others are left.
fn reap_finished() -> bool {
    loop {
        // SAFETY: the status is not asked for.
        match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
            0 => return true,
            pid if pid > 0 => {}
            _ => return false,
        }
    }
}

/// Add the descendants of a process, nearest first. Zombies are listed too; a signal does them no harm.
fn gather(pid: libc::pid_t, found: &mut Vec<libc::pid_t>) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
    for task in tasks.flatten() {
        let Ok(children) = fs::read_to_string(task.path().join("children")) else { continue };
        for child in children.split_ascii_whitespace().filter_map(|text| text.parse().ok()) {
            if !found.contains(&child) && !is_spared(child) {
                found.push(child);
                gather(child, found);
            }
        }
    }
}
