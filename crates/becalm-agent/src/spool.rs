//! The spool, which holds every finished run at once, so that no run is lost with becalm or with this
//! process.
//!
//! It is a file, or memory that outlives the machine: a guest's is a file of its host.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use becalm_core::exec::user::User;

/// The store of finished runs until the client has stored them.
pub struct Spool {
    place: Place,
    /// The path of a file given by name, and its user; the file is removed when it is not needed any more.
    named: Option<(PathBuf, Option<User>)>,
    /// Whether it holds runs that nobody may have stored.
    filled: bool,
}

enum Place {
    File(File),
    Memory(Memory),
}

impl Spool {
    /// Use a file that was passed open.
    pub fn of(file: File) -> io::Result<Self> {
        regular(&file)?;
        Ok(Self { place: Place::File(file), named: None, filled: false })
    }

    /// Open a file by name, with the rights of the workload's user, so that an agent of root opens nothing
    /// that the user may not.
    pub fn open(path: &Path, user: Option<&User>) -> io::Result<Self> {
        // The flags prevent waiting for the reader of a pipe or for a device.
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = as_user(user, || OpenOptions::new().write(true).custom_flags(flags).open(path))?;
        // Root's groups may allow writing what the user may not write.
        if user.is_some_and(|user| file.metadata().is_ok_and(|about| about.uid() != user.uid)) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to somebody else"));
        }
        Ok(Self { named: Some((path.to_owned(), user.cloned())), ..Self::of(file)? })
    }

    /// Map the memory of a device.
    pub fn shared(path: &Path) -> io::Result<Self> {
        Ok(Self { place: Place::Memory(Memory::map(path)?), named: None, filled: false })
    }

    /// Empty the spool at the beginning of a block: its runs have been stored.
    pub fn empty(&mut self) -> io::Result<()> {
        self.filled = false;
        match &mut self.place {
            Place::File(file) => file.set_len(0).and_then(|()| file.rewind()),
            Place::Memory(memory) => {
                memory.clear();
                Ok(())
            }
        }
    }

    /// Append a line.
    pub fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.filled = true;
        match &mut self.place {
            Place::File(file) => file.write_all(line),
            Place::Memory(memory) => memory.write(line),
        }
    }

    /// End the conversation. A file given by name is removed unless it holds runs that may be missing;
    /// `stored` means that there are none.
    pub fn end(&mut self, stored: bool) {
        let (Place::File(file), Some((path, user))) = (&self.place, &self.named) else { return };
        if stored || !self.filled {
            as_user(user.as_ref(), || {
                let own = file.metadata().and_then(|own| Ok((own, fs::symlink_metadata(path)?)));
                if own.is_ok_and(|(own, there)| (own.dev(), own.ino()) == (there.dev(), there.ino())) {
                    drop(fs::remove_file(path));
                }
            });
        }
    }
}

/// Mapped memory: lines from the beginning, and zeros after them.
struct Memory {
    start: NonNull<u8>,
    size: usize,
    used: usize,
}

impl Memory {
    fn map(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
        let size = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        // SAFETY: a live descriptor; the kernel chooses the address, which is ours until the process ends.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), size, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        let start = NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED);
        let mut memory = Self { start: start.ok_or_else(io::Error::last_os_error)?, size, used: 0 };
        memory.used = memory.bytes().iter().position(|byte| *byte == 0).unwrap_or(size);
        Ok(memory)
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped with this size until the process ends; nobody else writes there.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.size) }
    }

    fn clear(&mut self) {
        let used = std::mem::take(&mut self.used);
        self.bytes()[..used].fill(0);
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let (from, size) = (self.used, self.size);
        let end = from + line.len();
        // At least one zero stays, which marks the end.
        if end >= size {
            return Err(io::Error::new(io::ErrorKind::StorageFull, format!("its {size} bytes are full")));
        }
        self.bytes()[from..end].copy_from_slice(line);
        self.used = end;
        Ok(())
    }
}

/// Call a function that accesses files with the rights of a user.
fn as_user<Done>(user: Option<&User>, act: impl FnOnce() -> Done) -> Done {
    let switch = |uid: u32, gid: u32| {
        // SAFETY: only the credentials for file access change; they are restored below.
        unsafe {
            libc::setfsgid(gid);
            libc::setfsuid(uid);
        }
    };
    if let Some(user) = user {
        switch(user.uid, user.gid);
    }
    let done = act();
    if user.is_some() {
        // SAFETY: cannot fail.
        unsafe { switch(libc::geteuid(), libc::getegid()) };
    }
    done
}

/// Check that a file is a regular one: writing to a pipe without a reader would block the agent for ever.
fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("becalm-test-spool-{name}-{}", std::process::id()))
    }

    #[test]
    fn memory_holds_the_lines_of_this_block_and_zeros() {
        let path = scratch("memory");
        // The content that an earlier machine left.
        fs::write(&path, [b"earlier\n".as_slice(), &[0; 24]].concat()).unwrap();
        let mut spool = Spool::shared(&path).unwrap();
        spool.empty().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [0; 32]);
        spool.write(b"one\n").unwrap();
        spool.write(b"two\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), [b"one\ntwo\n".as_slice(), &[0; 24]].concat());
        let full = spool.write(&[b'x'; 24]).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), [b"one\ntwo\n".as_slice(), &[0; 24]].concat());
        spool.empty().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [0; 32]);
        spool.end(true);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_named_file_is_removed_unless_runs_may_be_missing() {
        for (lines, stored, stays) in [(0, false, false), (1, false, true), (1, true, false)] {
            let path = scratch("file");
            fs::write(&path, "").unwrap();
            let mut spool = Spool::open(&path, None).unwrap();
            spool.empty().unwrap();
            for _ in 0..lines {
                spool.write(b"a run\n").unwrap();
            }
            spool.end(stored);
            assert_eq!(path.exists(), stays, "{lines} {stored}");
            drop(fs::remove_file(&path));
        }
    }

    #[test]
    fn another_file_of_that_name_and_a_passed_one_are_kept() {
        let path = scratch("other");
        fs::write(&path, "").unwrap();
        let mut spool = Spool::open(&path, None).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "somebody else's").unwrap();
        spool.end(true);
        assert!(path.exists());
        Spool::of(File::open(&path).unwrap()).unwrap().end(true);
        assert!(path.exists());
        fs::remove_file(&path).unwrap();
    }
}
