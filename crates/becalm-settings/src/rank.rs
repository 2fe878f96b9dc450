//! The priorities of a task: nice value, scheduling policy and I/O class.

use std::io;
use std::mem;

use libc::c_long;

/// The first 48 bytes of the kernel's `struct sched_attr` (include/uapi/linux/sched/types.h, version 0).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SchedAttr {
    pub size: u32,
    pub policy: u32,
    pub flags: u64,
    pub nice: i32,
    pub priority: u32,
    pub runtime: u64,
    pub deadline: u64,
    pub period: u64,
}

pub const SIZE: u32 = mem::size_of::<SchedAttr>() as u32;

impl Default for SchedAttr {
    fn default() -> Self {
        Self { size: SIZE, policy: 0, flags: 0, nice: 0, priority: 0, runtime: 0, deadline: 0, period: 0 }
    }
}

impl SchedAttr {
    /// Return the attributes of a process; 0: the calling one.
    pub fn of(pid: libc::pid_t) -> Option<Self> {
        let mut found = Self::default();
        let (pid, size) = (c_long::from(pid), c_long::from(SIZE));
        // SAFETY: the kernel writes as many bytes as the structure has.
        let done = unsafe { libc::syscall(libc::SYS_sched_getattr, pid, &mut found, size, 0 as c_long) };
        (done == 0).then_some(found)
    }

    /// Give a process these attributes; false: errno says why not.
    pub fn give(self, pid: libc::pid_t) -> bool {
        // SAFETY: the structure lives through the call.
        unsafe { libc::syscall(libc::SYS_sched_setattr, c_long::from(pid), &self, 0 as c_long) == 0 }
    }
}

/// The priorities of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    pub nice: i32,
    /// Scheduling policy, and its priority.
    pub policy: u32,
    pub level: u32,
    /// Class and level as `ioprio_get` gives them.
    pub io: i32,
}

impl Rank {
    /// Return the priorities of a task.
    pub fn of(pid: libc::pid_t) -> io::Result<Self> {
        let found = SchedAttr::of(pid).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: no pointers. IOPRIO_WHO_PROCESS is 1.
        let io = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, pid) } as i32;
        // Without an account of its own a task has none (block/ioprio.c).
        Ok(Self { nice: found.nice, policy: found.policy, level: found.priority, io: io.max(0) })
    }

    /// Give a task these, where it has others.
    pub fn give(&self, pid: libc::pid_t) -> io::Result<()> {
        let now = Self::of(pid)?;
        let last = || Err(io::Error::last_os_error());
        if (now.policy, now.level, now.nice) != (self.policy, self.level, self.nice) {
            let attr = SchedAttr {
                policy: self.policy,
                priority: self.level,
                nice: self.nice,
                ..SchedAttr::of(pid).unwrap_or_default()
            };
            if !(SchedAttr { size: SIZE, flags: 0, ..attr }).give(pid) {
                return last();
            }
        }
        // SAFETY: no pointers.
        if now.io != self.io && unsafe { libc::syscall(libc::SYS_ioprio_set, 1, pid, self.io) } != 0 {
            return last();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_gets_priorities_and_gives_them_back() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = child.id() as libc::pid_t;
        let before = Rank::of(pid).unwrap();
        let wanted = Rank { nice: 19, policy: libc::SCHED_BATCH as u32, level: 0, io: 2 << 13 | 7 };
        wanted.give(pid).unwrap();
        let (given, own) = (Rank::of(pid).unwrap(), Rank::of(0).unwrap());
        drop(child.kill());
        child.wait().unwrap();
        assert_eq!(given, wanted);
        assert_eq!(own, before, "and nobody else");
        assert!(Rank::of(pid).is_err());
    }
}
