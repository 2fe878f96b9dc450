//! The priorities of a task: nice value, scheduling policy and I/O class.

use std::io;

use crate::tree::checked;

/// The priorities of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    pub nice: i32,
    /// The scheduling policy, and its priority.
    pub policy: i32,
    pub level: i32,
    /// Class and level as `ioprio_get` returns them.
    pub io: i32,
}

impl Rank {
    /// Return the priorities of a task.
    pub fn of(pid: libc::pid_t) -> io::Result<Self> {
        let mut level = libc::sched_param { sched_priority: 0 };
        // SAFETY: a live structure. The call itself returns 20 less the nice value (getpriority(2)); IOPRIO_WHO_PROCESS is 1.
        unsafe {
            checked(libc::sched_getparam(pid, &mut level))?;
            let policy = checked(libc::sched_getscheduler(pid))?;
            let nice = checked(libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, pid) as i32)?;
            // A task that has no I/O context of its own has no class; before Linux 5.14 it had a level all the
            // same, which ioprio_set(2) refuses (block/ioprio.c).
            let io = (libc::syscall(libc::SYS_ioprio_get, 1, pid) as i32).max(0);
            Ok(Self { nice: 20 - nice, policy, level: level.sched_priority, io: with_class(io) })
        }
    }

    /// Give a task these priorities, if it has others.
    pub fn apply(&self, pid: libc::pid_t) -> io::Result<()> {
        let now = Self::of(pid)?;
        // SAFETY: a live structure, no other pointers.
        unsafe {
            if (now.policy, now.level) != (self.policy, self.level) {
                let level = libc::sched_param { sched_priority: self.level };
                checked(libc::sched_setscheduler(pid, self.policy, &level))?;
            }
            if now.nice != self.nice {
                checked(libc::setpriority(libc::PRIO_PROCESS, pid as libc::id_t, self.nice))?;
            }
            if now.io != self.io {
                checked(libc::syscall(libc::SYS_ioprio_set, 1, pid, self.io) as i32)?;
            }
        }
        Ok(())
    }
}

/// Return an I/O priority, or 0 when it has no class: the class is above bit 13 (ioprio_set(2)).
fn with_class(io: i32) -> i32 {
    if io >> 13 == 0 {
        0
    } else {
        io
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_gets_priorities() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = child.id() as libc::pid_t;
        let before = Rank::of(0).unwrap();
        let wanted = Rank { nice: 19, policy: libc::SCHED_BATCH, level: 0, io: 2 << 13 | 7 };
        wanted.apply(pid).unwrap();
        let (applied, own) = (Rank::of(pid).unwrap(), Rank::of(0).unwrap());
        drop(child.kill());
        child.wait().unwrap();
        assert_eq!(applied, wanted);
        assert_eq!(own, before, "and nobody else");
        assert!(Rank::of(pid).is_err());
    }

    #[test]
    fn a_level_without_a_class_is_none() {
        assert_eq!([0, 4, 2 << 13 | 4, 3 << 13].map(with_class), [0, 0, 2 << 13 | 4, 3 << 13]);
    }
}
