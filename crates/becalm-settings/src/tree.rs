//! The files that settings are written to: those of the running machine, or of a stand-in for it (`Files`).

use std::ffi::CString;
use std::fmt::Debug;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use crate::cpus::Cpus;
use crate::place::Place;
use crate::unmounted;

pub const CPU: &str = "/sys/devices/system/cpu";

/// The directory of what lasts as long as this boot: the lock, and new files before they are renamed to their
/// places.
pub const RUN: &str = "/run/becalm";

/// The beginning of the names of new files before they are renamed; the process that writes them follows.
const ASIDE: &str = "write-";

/// The largest size of a file read here: a directory may hold one that never ends.
const LONGEST: u64 = 64 << 20;

/// The room for reading: most files of the kernel fit, and are read in one call; without room, reading begins
/// with 32 bytes.
const PAGE: usize = 4096;

/// The reason why something in the place of one of becalm's files is refused.
const ODD: &str = "is not a plain file, and nothing of becalm's; remove it, becalm makes its own anew";

/// A stand-in for the running machine: a directory that looks like its `/`, or its files as root sees them.
pub trait Files: Debug + Send + Sync {
    /// Open a file (open(2)).
    fn open(&self, path: &str, flags: i32, mode: u32) -> io::Result<File>;

    /// Return a path for calls that act on a name and follow no link there; it is valid as long as the
    /// descriptor is open.
    fn named(&self, path: &str) -> io::Result<(Option<OwnedFd>, PathBuf)>;

    /// Write a value to a file.
    fn write(&self, tree: &Tree, path: &str, value: &str) -> io::Result<()>;

    /// Act as the kernel does when a place is set to a value; None if that is only a write to its file.
    fn act(&self, tree: &Tree, place: &Place, value: &str) -> Option<io::Result<()>>;
}

/// A machine's files. System calls act only when it is `live`.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(crate) root: PathBuf,
    pub live: bool,
    pub(crate) files: Option<Arc<dyn Files>>,
}

impl Tree {
    /// Return the running machine.
    pub fn running() -> Self {
        Self { root: PathBuf::from("/"), live: true, files: None }
    }

    /// Return where a path of the machine is found: for messages, and for readers that have a root of their
    /// own.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Open a file of the machine (open(2)).
    pub fn open(&self, path: &str, flags: i32, mode: u32) -> io::Result<File> {
        if let Some(files) = &self.files {
            return files.open(path, flags, mode);
        }
        open(path, flags, mode)
    }

    /// Return a path for calls that act on a name and follow no link there; it is valid as long as the
    /// descriptor is open.
    pub(crate) fn named(&self, path: &str) -> io::Result<(Option<OwnedFd>, PathBuf)> {
        self.files.as_ref().map_or_else(|| Ok((None, PathBuf::from(path))), |files| files.named(path))
    }

    /// Return a file's bytes.
    pub fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        // Opening a FIFO in somebody's directory would never return otherwise.
        let wait = if self.live { 0 } else { libc::O_NONBLOCK };
        let mut bytes = Vec::with_capacity(PAGE);
        self.open(path, libc::O_RDONLY | libc::O_NOCTTY | wait, 0)?.take(LONGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Return the bytes of a file that decides what is written on this machine: it must belong to root, or on
    /// a directory to the user of this process. Others could have anything written.
    pub fn own_bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut file = self.open(path, libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)?;
        let about = file.metadata()?;
        // SAFETY: cannot fail.
        let owner = if self.live { 0 } else { unsafe { libc::geteuid() } };
        let own = [0, owner].contains(&about.uid()) && about.mode() & 0o022 == 0 && about.nlink() == 1;
        if !own || !about.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{} is not becalm's: it belongs to user {}, or others may write it",
                    self.path(path).display(),
                    about.uid()
                ),
            ));
        }
        let mut bytes = Vec::with_capacity(PAGE);
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Return a file's text without the white space around it.
    pub fn read(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned())
    }

    /// Write a value in one call, as the kernel's files require. The file must exist.
    pub fn write(&self, path: &str, value: &str) -> io::Result<()> {
        if let Some(files) = &self.files {
            return files.write(self, path, value);
        }
        let mut file = self.open(path, libc::O_WRONLY, 0)?;
        match file.write(value.as_bytes())? {
            written if written == value.len() => Ok(()),
            written => Err(io::Error::other(format!("only {written} of {} bytes were taken", value.len()))),
        }
    }

    /// Act on a place where the machine is not the running one; None if it is, or if the place is only
    /// a file.
    pub fn act(&self, place: &Place, value: &str) -> Option<io::Result<()>> {
        self.files.as_ref()?.act(self, place, value)
    }

    /// Replace the bytes of a file at once, so that nobody ever sees half of them. Its mode stays; a new file
    /// has 0644.
    pub fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        // Each process of becalm has its own, since several may act at the same time.
        let aside = format!("{RUN}/{ASIDE}{}", std::process::id());
        let mode = self.mode(path).map_or(0o644, |mode| mode & 0o7777);
        let mut file = match self.emptied(&aside, mode) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.ensure_directory(RUN)?;
                self.emptied(&aside, mode)?
            }
            made => made?,
        };
        let done = file.write_all(bytes).and_then(|()| self.rename(&aside, path));
        if done.is_err() {
            drop(self.remove_file(&aside));
        }
        done
    }

    /// Remove the files left by processes that were killed while they replaced a file.
    pub fn sweep(&self) {
        for pid in self.numbered(RUN, ASIDE) {
            // SAFETY: no memory is passed; signal 0 only asks whether there is such a process (kill(2)).
            let gone = i32::try_from(pid).is_ok_and(|pid| pid > 0 && unsafe { libc::kill(pid, 0) } != 0)
                && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
            if gone {
                // One that another becalm removed meanwhile, or that is not a file, is no reason to stop.
                drop(self.remove_file(&format!("{RUN}/{ASIDE}{pid}")));
            }
        }
    }

    /// Create a new file that will take another's place, with this mode whatever the umask is. Anything with
    /// that name is removed first: it may be a link, or another name of a file that must not be written.
    pub fn emptied(&self, path: &str, mode: u32) -> io::Result<File> {
        let file = match self.created(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove_file(path)?;
                self.created(path)?
            }
            made => made?,
        };
        file.set_permissions(Permissions::from_mode(mode))?;
        Ok(file)
    }

    /// Create a file to append to. It must not exist.
    pub fn created(&self, path: &str) -> io::Result<File> {
        let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        self.open(path, flags, 0o644)
    }

    /// Open a file that stays, created if necessary. On a directory, a file with a second name elsewhere is
    /// refused: it may be somebody else's.
    pub fn lasting(&self, path: &str, mode: u32) -> io::Result<File> {
        let at = self.path(path);
        let odd = |what| io::Error::new(io::ErrorKind::InvalidInput, format!("{} {what}", at.display()));
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = self.open(path, flags, mode).map_err(|error| match error.raw_os_error() {
            // A link, a directory, a socket or a device without a driver (open(2)).
            Some(libc::ELOOP | libc::EISDIR | libc::ENXIO | libc::ENODEV) => odd(ODD),
            _ => io::Error::new(error.kind(), format!("{}: {error}", at.display())),
        })?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(odd(ODD));
        }
        if !self.live && about.nlink() > 1 {
            return Err(odd(
                "is also known by another name; remove one of the two, becalm makes its own anew",
            ));
        }
        // Independently of the umask.
        file.set_permissions(Permissions::from_mode(mode))?;
        Ok(file)
    }

    /// Make a directory that everybody can read whatever the umask is. It must not exist.
    pub fn make_directory(&self, path: &str) -> io::Result<()> {
        let (_parent, path) = self.named(path)?;
        fs::create_dir(&path)?;
        fs::set_permissions(path, Permissions::from_mode(0o755))
    }

    /// Make a directory and its parents unless it exists.
    pub fn ensure_directory(&self, path: &str) -> io::Result<()> {
        if self.is_directory(path) {
            return Ok(());
        }
        if let Some((parent, _)) = path.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
            self.ensure_directory(parent)?;
        }
        match self.make_directory(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.is_directory(path) => Ok(()),
            done => done,
        }
    }

    /// Rename a file; a file that has the new name is replaced.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let ((_from, old), (_to, new)) = (self.named(from)?, self.named(to)?);
        fs::rename(old, new)
    }

    /// Remove a file, or a link without its target.
    pub fn remove_file(&self, path: &str) -> io::Result<()> {
        let (_parent, path) = self.named(path)?;
        fs::remove_file(path)
    }

    /// Remove an empty directory.
    pub fn remove_directory(&self, path: &str) -> io::Result<()> {
        let (_parent, path) = self.named(path)?;
        fs::remove_dir(path)
    }

    /// Write to the disk what was created, renamed or removed in a directory.
    pub fn sync(&self, directory: &str) -> io::Result<()> {
        self.open(directory, libc::O_RDONLY | libc::O_DIRECTORY, 0)?.sync_all()
    }

    /// Return the metadata of a name itself, not of the target of a link.
    pub fn about(&self, path: &str) -> io::Result<fs::Metadata> {
        let (_parent, path) = self.named(path)?;
        fs::symlink_metadata(path)
    }

    /// Return the type and permissions of the target of a path.
    pub fn mode(&self, path: &str) -> io::Result<u32> {
        Ok(self.open(path, libc::O_PATH, 0)?.metadata()?.mode())
    }

    /// Return whether such a file or directory exists.
    pub fn exists(&self, path: &str) -> bool {
        self.open(path, libc::O_PATH, 0).is_ok()
    }

    /// Return whether such a directory exists.
    pub fn is_directory(&self, path: &str) -> bool {
        self.open(path, libc::O_PATH | libc::O_DIRECTORY, 0).is_ok()
    }

    /// Return the names in a directory, sorted; none if it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(directory) = self.open(path, libc::O_RDONLY | libc::O_DIRECTORY, 0) else { return Vec::new() };
        // Through the descriptor, so that the directory cannot be replaced in between.
        let entries = fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    /// Return the numbers n of the entries "{prefix}n" of a directory, ascending.
    pub fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(path).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Return the CPUs that are present, and those of them that are online.
    pub fn cpus(&self) -> (Cpus, Cpus) {
        let present: Cpus = self.numbered(CPU, "cpu").into_iter().collect();
        let online =
            |cpu: &u32| self.read(&format!("{CPU}/cpu{cpu}/online")).map_or(true, |text| text != "0");
        let online = present.iter().copied().filter(online).collect();
        (present, online)
    }
}

/// Open a file of the running machine.
pub fn open(path: &str, flags: i32, mode: u32) -> io::Result<File> {
    if let Some(file) = unmounted::open(path, flags, mode) {
        return file;
    }
    let path = CString::new(path).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: a live string; the descriptor is new and ours.
    match unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) } {
        -1 => Err(io::Error::last_os_error()),
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    }
}

/// Turn the -1 of a system call into its errno.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
