//! One becalm at a time changes a machine: a lock that ends with its last holder, however that ends (flock(2)).

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::journal::{directory, Begin};
use super::tree::Tree;

const DIRECTORY: &str = "/run/becalm";

/// Who has the lock, for everybody to read. The lock itself only root may open: whoever can may also hold it.
const HOLDER: &str = "/run/becalm/holder";

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
        let file = open(&path(tree), 0o600)?;
        let mut tries = 0;
        // SAFETY: a live descriptor.
        while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
                return Err(error.into());
            }
            tries += 1;
            if tries > TRIES {
                return Err(LockError::Held(said(tree)));
            }
            sleep(Duration::from_millis(50));
        }
        let mut holder = open(&tree.path(HOLDER), 0o644)?;
        holder.set_len(0)?;
        let what = if who.title.is_empty() { String::new() } else { format!(" ({})", who.title) };
        writeln!(holder, "process {} of {}{what}", who.pid, who.user)?;
        Ok(Self { file })
    }

    /// For a process that is to hold the lock too.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

/// Who holds the lock, in words; None when nobody does or that cannot be found out.
pub fn holder(tree: &Tree) -> Option<String> {
    let held = match File::open(path(tree)) {
        // A shared lock fails while the exclusive one is held, and ends with this descriptor.
        // SAFETY: a live descriptor.
        Ok(file) => unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) != 0 },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => listed(&path(tree)),
        Err(_) => false,
    };
    held.then(|| said(tree))
}

/// Whether the kernel's list of locks has one on this file: for who may not open it.
fn listed(path: &Path) -> bool {
    let Ok(inode) = fs::metadata(path).map(|about| about.ino()) else { return false };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    // "1: FLOCK  ADVISORY  WRITE 4711 00:1a:2153 0 EOF" (proc_locks(5)): device and inode, the latter decimal.
    let on_it = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        fields.next() == Some("FLOCK")
            && fields.nth(3).and_then(|file| file.rsplit(':').next()) == Some(inode.to_string().as_str())
    };
    locks.lines().any(on_it)
}

fn said(tree: &Tree) -> String {
    let text = fs::read_to_string(tree.path(HOLDER)).unwrap_or_default();
    text.trim().to_owned()
}

fn path(tree: &Tree) -> PathBuf {
    tree.path(DIRECTORY).join("lock")
}

fn open(path: &Path, mode: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(mode)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)?;
    // Whatever the umask is, and an older becalm made of it.
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}
