//! One becalm at a time changes a machine: a lock that ends with its last holder, however that ends (flock(2)).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::thread::sleep;
use std::time::Duration;

use super::journal::{directory, Begin};
use super::tree::Tree;

const DIRECTORY: &str = "/run/becalm";

/// Tries, 50 ms apart: the guard of a killed agent is done in less.
const TRIES: u32 = 40;

/// The lock, held as long as this or an inherited copy of its descriptor lives.
pub struct Lock {
    file: File,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{0}")]
    Held(String),
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Lock {
    /// Take the lock, or say who has it.
    pub fn take(tree: &Tree, who: &Begin) -> Result<Self, LockError> {
        directory(&tree.path(DIRECTORY))?;
        let path = tree.path(DIRECTORY).join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&path)?;
        let mut tries = 0;
        // SAFETY: a live descriptor.
        while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
                return Err(error.into());
            }
            tries += 1;
            if tries > TRIES {
                let mut text = String::new();
                file.read_to_string(&mut text)?;
                return Err(LockError::Held(text.trim().to_owned()));
            }
            sleep(Duration::from_millis(50));
        }
        file.set_len(0)?;
        file.rewind()?;
        let what = if who.title.is_empty() { String::new() } else { format!(" ({})", who.title) };
        writeln!(file, "process {} of {}{what}", who.pid, who.user)?;
        Ok(Self { file })
    }

    /// For a process that is to hold the lock too.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

/// Who holds the lock, in words; None when nobody does or that cannot be found out.
pub fn holder(tree: &Tree) -> Option<String> {
    let path = tree.path(DIRECTORY).join("lock");
    let file = File::open(&path).ok()?;
    // A shared lock fails while the exclusive one is held, and ends with this descriptor.
    // SAFETY: a live descriptor.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } == 0 {
        return None;
    }
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
