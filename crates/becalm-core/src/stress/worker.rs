//! Start of the processes of a load: in the caller's session, or all of them in one new session.

use std::fs;
use std::io;
use std::path::Path;

use super::board::Slot;
use super::demand::{Demand, Session};
use super::job::{Job, LoadError};
use crate::exec::{checked, end_with};

/// Start all jobs, each with a slot. They end with this process.
pub fn start(jobs: Vec<Job>, slots: &[Slot], demand: &Demand, group: Option<&Path>) -> Result<(), LoadError> {
    let failed = |error: io::Error| {
        LoadError::Machine(format!("The processes of the load cannot be started: {error}."))
    };
    // SAFETY: cannot fail.
    let parent = unsafe { libc::getpid() };
    let all = |flags: i32| -> io::Result<()> {
        for (job, slot) in jobs.into_iter().zip(slots) {
            match fork(flags)? {
                0 => live(job, slot, demand, group, parent),
                pid => slot.set_pid(pid),
            }
        }
        Ok(())
    };
    match demand.session {
        Session::Same => all(0).map_err(failed),
        // Only a process that does not lead a group can begin a session, and the process that was asked for
        // the load should stay where the terminal finds it. So a process in between begins the session, and
        // creates our children for us.
        Session::New => match fork(0).map_err(failed)? {
            0 => {
                // SAFETY: no pointers.
                let begun = checked(unsafe { libc::setsid() }).and_then(|_| all(libc::CLONE_PARENT));
                leave(i32::from(begun.is_err()))
            }
            pid => {
                let mut status = 0;
                // SAFETY: a live pointer.
                checked(unsafe { libc::waitpid(pid, &mut status, 0) }).map_err(failed)?;
                match status {
                    0 => Ok(()),
                    _ => Err(LoadError::Machine("A session for the load cannot be begun.".into())),
                }
            }
        },
    }
}

/// Call fork(2), or with CLONE_PARENT create a sibling. Only for a process with a single thread.
pub fn fork(flags: i32) -> io::Result<libc::pid_t> {
    // SAFETY: without CLONE_VM the child has its own copy of everything and goes on here.
    let pid =
        unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags | libc::SIGCHLD), 0, 0, 0, 0) };
    checked(pid as i32)
}

/// End this process only, without running exit handlers of the one it was forked from.
pub fn leave(code: i32) -> ! {
    // SAFETY: as said.
    unsafe { libc::_exit(code) }
}

/// Run a process from its start to its end.
fn live(job: Job, slot: &Slot, demand: &Demand, group: Option<&Path>, parent: libc::pid_t) -> ! {
    let limited = job.limit_bytes.and(group);
    let error = match settle(demand, limited, parent) {
        Ok(()) => (job.work)(slot),
        Err(error) => error,
    };
    slot.set_message(&error.to_string());
    leave(1)
}

fn settle(demand: &Demand, group: Option<&Path>, parent: libc::pid_t) -> Result<(), LoadError> {
    // SAFETY: plain system calls on values that live through them.
    unsafe {
        if !end_with(parent, libc::SIGKILL) {
            leave(1);
        }
        // Ctrl-C is for the watching process, which ends all others.
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
    if let Some(nice) = demand.nice {
        // SAFETY: no pointers.
        checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) }).map_err(|error| {
            LoadError::Machine(format!("Nice {nice} is refused: {error}. Only root may lower it."))
        })?;
    }
    if let Some(cpus) = &demand.cpus {
        bind(cpus).map_err(|error| {
            LoadError::Machine(format!(
                "The load cannot be bound to processors {cpus:?}: {error}. Are they online?"
            ))
        })?;
    }
    if let Some(group) = group {
        // If memory runs out all the same, the kernel ends this process (proc_pid_oom_score_adj(5)).
        let _ = fs::write("/proc/self/oom_score_adj", "1000");
        fs::write(group.join("cgroup.procs"), "0").map_err(|error| {
            LoadError::Machine(format!(
                "The load cannot go into the control group {}: {error}.",
                group.display()
            ))
        })?;
    }
    Ok(())
}

fn bind(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero set is valid; `Demand::check` has seen that the numbers are below its 1024.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        checked(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)).map(drop)
    }
}
