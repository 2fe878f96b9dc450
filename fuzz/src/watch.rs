//! A watch of files below a directory (inotify(7)), so that a machine of many files can be restored quickly
//! after a few writes.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const CHANGES: u32 = libc::IN_MODIFY
    | libc::IN_ATTRIB
    | libc::IN_CREATE
    | libc::IN_DELETE
    | libc::IN_MOVED_FROM
    | libc::IN_MOVED_TO
    | libc::IN_DONT_FOLLOW;

/// The events after which the changed files are unknown: a directory was added or removed, or the queue
/// overflowed.
const UNKNOWN: u32 = libc::IN_ISDIR | libc::IN_IGNORED | libc::IN_Q_OVERFLOW;

/// A watch of a directory, with or without everything below it.
pub struct Watch {
    events: File,
    directories: HashMap<i32, PathBuf>,
}

/// The changes since the last query.
pub enum Changes {
    Files(BTreeSet<PathBuf>),
    /// Changes that include added or removed directories.
    More,
}

impl Watch {
    /// Watch one directory.
    pub fn of_directory(path: &Path) -> Self {
        // SAFETY: no pointers; a new descriptor is ours.
        let descriptor = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        assert!(descriptor >= 0, "no inotify: {}", std::io::Error::last_os_error());
        // SAFETY: as above.
        let events = unsafe { File::from_raw_fd(descriptor) };
        let mut watch = Self { events, directories: HashMap::new() };
        watch.add(path);
        watch
    }

    /// Watch a directory and everything that is in it now.
    pub fn of_tree(path: &Path) -> Self {
        let mut watch = Self::of_directory(path);
        watch.add_below(path);
        watch
    }

    fn add(&mut self, path: &Path) {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        // SAFETY: a live descriptor and a live string.
        let number = unsafe { libc::inotify_add_watch(self.events.as_raw_fd(), name.as_ptr(), CHANGES) };
        assert!(number >= 0, "{} cannot be watched: {}", path.display(), std::io::Error::last_os_error());
        self.directories.insert(number, path.to_owned());
    }

    fn add_below(&mut self, path: &Path) {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.add(&entry.path());
                self.add_below(&entry.path());
            }
        }
    }

    /// Return the files that were changed, created or removed since the last call.
    pub fn changes(&self) -> Changes {
        let mut files = BTreeSet::new();
        let mut more = false;
        let mut buffer = [0_u8; 1 << 14];
        while let Ok(length @ 1..) = (&self.events).read(&mut buffer) {
            let mut rest = &buffer[..length];
            // The buffer had room for another event (NAME_MAX is 255), so there are no more.
            let last = length + 16 + 256 <= buffer.len();
            // struct inotify_event: the watch, the mask, a cookie, the length of the name, the name.
            while let Some((head, after)) = rest.split_first_chunk::<16>() {
                let number =
                    |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
                let (name, next) = after.split_at(number(12) as usize);
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                match self.directories.get(&(number(0) as i32)) {
                    Some(directory) if number(4) & UNKNOWN == 0 && !name.is_empty() => {
                        files.insert(directory.join(OsStr::from_bytes(name)));
                    }
                    _ => more = true,
                }
                rest = next;
            }
            if last {
                break;
            }
        }
        if more {
            Changes::More
        } else {
            Changes::Files(files)
        }
    }
}
