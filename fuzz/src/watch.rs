//! Knows which files below a directory were changed, so that a machine of many files is as before after a few writes
//! (inotify(7)).

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

/// A directory came or went, or more happened than the kernel remembers.
const UNKNOWN: u32 = libc::IN_ISDIR | libc::IN_IGNORED | libc::IN_Q_OVERFLOW;

/// Watches a directory, and all below it or nothing below it.
pub struct Watch {
    events: File,
    directories: HashMap<i32, PathBuf>,
}

/// The changes since they were last asked for.
pub enum Changes {
    Files(BTreeSet<PathBuf>),
    /// Directories came or went, too.
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

    /// Watch a directory and all that is in it now.
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

    /// Return the files that were changed, made or removed since this was last called.
    pub fn changes(&self) -> Changes {
        let mut files = BTreeSet::new();
        let mut more = false;
        let mut buffer = [0_u8; 1 << 14];
        while let Ok(length @ 1..) = (&self.events).read(&mut buffer) {
            let mut rest = &buffer[..length];
            // There are no more when another event would have found room (NAME_MAX is 255).
            let last = length + 16 + 256 <= buffer.len();
            // struct inotify_event: the watch, what happened, a cookie, the length of the name, the name.
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
