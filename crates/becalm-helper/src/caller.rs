//! The user who had this program started as root, and the processes that belong to that user.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use becalm_settings::pidfd;

/// The variables in which programs that make a user root name that user: sudo(8), pkexec(1). Both set them
/// regardless of the user; nothing else of the environment is read.
const CALLERS: [&str; 2] = ["SUDO_UID", "PKEXEC_UID"];

/// Return the caller's user number, root's if nobody called. An error if a variable is not a number.
pub fn caller() -> Result<u32, String> {
    let Some(text) = CALLERS.iter().find_map(|name| std::env::var(name).ok()) else { return Ok(0) };
    text.parse().map_err(|_| format!("{text:?} is not a user's number"))
}

/// Return a user's name from passwd(5), without the name services, which are other programs.
pub fn name(uid: u32) -> String {
    let text = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    };
    text.lines().find_map(named).unwrap_or_else(|| format!("user {uid}"))
}

/// A process of a user, held by a descriptor: its number cannot be reused unnoticed.
pub struct OwnProcess {
    pub pid: libc::pid_t,
    descriptor: OwnedFd,
}

impl OwnProcess {
    /// Hold a process that belongs only to this user: by all four of its user numbers (proc_pid_status(5)),
    /// so none that is about to get another user's rights.
    pub fn of(pid: libc::pid_t, uid: u32) -> io::Result<Self> {
        let process = Self { pid, descriptor: pidfd::open(pid)? };
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
        let own = |text: &str| text.parse() == Ok(uid);
        if uids.split_ascii_whitespace().count() != 4 || !uids.split_ascii_whitespace().all(own) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        // The status was that of this process if it still exists.
        process.lives().then_some(process).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
    }

    /// Return whether it has not ended: until then no other process has its number.
    pub fn lives(&self) -> bool {
        !pidfd::has_ended(&self.descriptor, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_its_users_alone() {
        let own = std::process::id() as libc::pid_t;
        // SAFETY: cannot fail.
        let uid = unsafe { libc::getuid() };
        assert!(OwnProcess::of(own, uid).is_ok_and(|process| process.lives()));
        for (pid, uid, errno) in
            [(own, uid + 1, libc::EPERM), (0, uid, libc::EINVAL), (-1, uid, libc::EINVAL)]
        {
            assert_eq!(OwnProcess::of(pid, uid).err().unwrap().raw_os_error(), Some(errno), "{pid}");
        }
    }

    #[test]
    fn one_that_has_ended_is_nobodys() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as libc::pid_t;
        let uid = unsafe { libc::getuid() };
        let process = OwnProcess::of(pid, uid);
        child.wait().unwrap();
        assert!(!process.is_ok_and(|process| process.lives()));
        assert!(OwnProcess::of(pid, uid).is_err());
    }

    #[test]
    fn users_have_names_or_numbers() {
        assert_eq!(name(0), "root");
        assert_eq!(name(4_000_000_000), "user 4000000000");
    }
}
