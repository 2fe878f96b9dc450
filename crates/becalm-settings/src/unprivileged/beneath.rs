//! Opening files below a directory that may be somebody else's: no path, link or mount point of `/proc` leads out of it.
//!
//! The kernel resolves the path as if the directory were its `/` (openat2(2), RESOLVE_IN_ROOT). Before Linux 5.6, and
//! under a system call filter that does not know the call, the path is walked here, and a link in it is refused.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// include/uapi/linux/openat2.h
#[repr(C)]
struct How {
    flags: u64,
    mode: u64,
    resolve: u64,
}

const NO_MAGICLINKS: u64 = 0x02;
const NO_SYMLINKS: u64 = 0x04;
const IN_ROOT: u64 = 0x10;

/// Open a path of the machine whose `/` is `root`, a path without links.
pub fn open(root: &Path, path: &str, flags: i32, mode: u32) -> io::Result<File> {
    let top = top(root)?;
    let relative = relative(path);
    match openat2(top.as_raw_fd(), &c_string(&relative)?, flags, mode, IN_ROOT | NO_MAGICLINKS) {
        Err(error) if unknown(&error) => walk(top, &relative, flags, mode),
        done => done.map(File::from),
    }
}

/// Return the directory that a path is in, and its last name: for calls that act on a name and follow no link
/// there.
pub fn parent(root: &Path, path: &str) -> io::Result<(OwnedFd, CString)> {
    let (directory, name) = split(path)?;
    let directory = open(root, directory, libc::O_PATH | libc::O_DIRECTORY, 0)?;
    Ok((directory.into(), name))
}

/// Return a path's directory and its last name, which must be one.
fn split(path: &str) -> io::Result<(&str, CString)> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = CString::new(name).ok().filter(|name| !matches!(name.to_bytes(), b"" | b"." | b".."));
    let name = name.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    Ok((if directory.is_empty() { "/" } else { directory }, name))
}

/// Open the directory itself. Its path had no links when it was given; a link in it now was put there to lead
/// elsewhere.
fn top(root: &Path) -> io::Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let path = c_string(root.as_os_str())?;
    match openat2(libc::AT_FDCWD, &path, flags, 0, NO_SYMLINKS | NO_MAGICLINKS) {
        Err(error) if unknown(&error) => openat(libc::AT_FDCWD, &path, flags | libc::O_NOFOLLOW, 0),
        done => done,
    }
}

fn relative(path: &str) -> String {
    match path.trim_start_matches('/') {
        "" => ".".to_owned(),
        path => path.to_owned(),
    }
}

/// Open a path component by component, following no link.
fn walk(top: OwnedFd, path: &str, flags: i32, mode: u32) -> io::Result<File> {
    let mut names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if names.contains(&"..") {
        return Err(io::Error::from_raw_os_error(libc::EXDEV));
    }
    let last = names.pop().unwrap_or(".");
    let mut here = top;
    for name in names {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        here = openat(here.as_raw_fd(), &c_string(name)?, flags, 0)?;
    }
    let opened = openat(here.as_raw_fd(), &c_string(last)?, flags | libc::O_NOFOLLOW, mode)?;
    let file = File::from(opened);
    // With O_PATH the link itself would be opened.
    if file.metadata()?.file_type().is_symlink() {
        return Err(io::Error::from_raw_os_error(libc::ELOOP));
    }
    Ok(file)
}

fn openat2(at: RawFd, path: &CString, flags: i32, mode: u32, resolve: u64) -> io::Result<OwnedFd> {
    let how = How {
        flags: (flags | libc::O_CLOEXEC) as u64,
        mode: if flags & libc::O_CREAT != 0 { u64::from(mode) } else { 0 },
        resolve,
    };
    // SAFETY: a live string and a live struct of the given size.
    let found =
        unsafe { libc::syscall(libc::SYS_openat2, at, path.as_ptr(), &how, std::mem::size_of::<How>()) };
    owned(found as RawFd)
}

fn openat(at: RawFd, path: &CString, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    // SAFETY: a live string; the mode is read only where a file may be made.
    owned(unsafe { libc::openat(at, path.as_ptr(), flags | libc::O_CLOEXEC, mode) })
}

fn owned(descriptor: RawFd) -> io::Result<OwnedFd> {
    match descriptor {
        0.. => {
            // SAFETY: the kernel has just given it to us.
            Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Return whether the kernel, or a filter around this process, does not know the call.
fn unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

fn c_string(text: impl AsRef<OsStr>) -> io::Result<CString> {
    CString::new(text.as_ref().as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    /// A directory `root/` with links of all kinds, and a file next to it that must not be reachable.
    struct Trap(PathBuf);

    impl Trap {
        fn new(name: &str) -> Self {
            let base = std::env::temp_dir().join(format!("becalm-beneath-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&base));
            let base = {
                fs::create_dir_all(base.join("root/inside")).unwrap();
                base.canonicalize().unwrap()
            };
            fs::write(base.join("victim"), "whole").unwrap();
            fs::write(base.join("root/inside/file"), "inner").unwrap();
            symlink(base.join("victim"), base.join("root/absolute")).unwrap();
            symlink("../victim", base.join("root/relative")).unwrap();
            symlink("/..", base.join("root/up")).unwrap();
            symlink("/inside", base.join("root/directory")).unwrap();
            symlink("/proc/self/root", base.join("root/magic")).unwrap();
            Self(base)
        }

        fn root(&self) -> PathBuf {
            self.0.join("root")
        }
    }

    impl Drop for Trap {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    const OUT: &[&str] =
        &["/../victim", "/absolute", "/relative", "/up/victim", "/inside/../../victim", "/magic/etc/passwd"];

    #[test]
    fn nothing_leads_out() {
        let trap = Trap::new("out");
        for path in OUT {
            for flags in [libc::O_RDONLY, libc::O_WRONLY | libc::O_TRUNC, libc::O_PATH] {
                assert!(open(&trap.root(), path, flags, 0).is_err(), "{path}");
            }
        }
        assert!(parent(&trap.root(), "/inside/..").is_err());
        assert_eq!(fs::read_to_string(trap.0.join("victim")).unwrap(), "whole");
        assert!(
            open(&trap.root(), "/directory/file", libc::O_RDONLY, 0).is_ok(),
            "links inside are followed"
        );
    }

    #[test]
    fn the_walk_leads_out_no_more_than_the_kernel() {
        let trap = Trap::new("walk");
        for path in OUT.iter().chain(&["/directory/file", "/directory"]) {
            for flags in [libc::O_RDONLY, libc::O_PATH] {
                let top = top(&trap.root()).unwrap();
                assert!(walk(top, &relative(path), flags, 0).is_err(), "{path}");
            }
        }
        let top = top(&trap.root()).unwrap();
        assert!(walk(top, "inside/./file", libc::O_RDONLY, 0).is_ok());
    }

    #[test]
    fn a_root_that_became_a_link_is_refused() {
        let trap = Trap::new("root");
        symlink(trap.0.join("root"), trap.0.join("link")).unwrap();
        assert!(open(&trap.0.join("link"), "/inside/file", libc::O_RDONLY, 0).is_err());
    }

    #[test]
    fn a_name_is_in_its_directory() {
        let trap = Trap::new("name");
        assert!(parent(&trap.root(), "/inside/file").is_ok_and(|(_, name)| name.as_bytes() == b"file"));
        for path in ["/", "", "/inside/", "/inside/.", "/.."] {
            assert!(parent(&trap.root(), path).is_err(), "{path:?}");
        }
    }
}
