//! Files of debugfs and tracefs on a machine where nobody has mounted them.
//!
//! The file system is mounted for this process only, and nowhere in the tree of files (fsopen(2), fsmount(2);
//! Linux 5.2): no other process sees it, and it ends with this one. Paths stay those of the usual place.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

/// include/uapi/linux/mount.h
const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
const NOSUID_NODEV_NOEXEC: libc::c_uint = 2 | 4 | 8;

/// A file system of the kernel, its usual place and its number in statfs(2) (include/uapi/linux/magic.h).
struct Kind {
    name: &'static CStr,
    place: &'static CStr,
    magic: i64,
    mount: OnceLock<Result<OwnedFd, i32>>,
}

static KINDS: [Kind; 2] = [
    Kind { name: c"debugfs", place: c"/sys/kernel/debug", magic: 0x6462_6720, mount: OnceLock::new() },
    Kind { name: c"tracefs", place: c"/sys/kernel/tracing", magic: 0x7472_6163, mount: OnceLock::new() },
];

/// Open a file of the running machine; None for paths elsewhere, if the file system is mounted, and if this
/// process may not mount it.
pub fn open(path: &str, flags: i32, mode: u32) -> Option<io::Result<File>> {
    let (kind, rest) = KINDS.iter().find_map(|kind| Some((kind, below(path, kind.place.to_str().ok()?)?)))?;
    if is_mounted(kind) {
        return None;
    }
    let mount = kind.mount.get_or_init(|| mount(kind.name)).as_ref().ok()?;
    let Ok(rest) = CString::new(rest) else {
        return Some(Err(io::Error::from_raw_os_error(libc::EINVAL)));
    };
    // SAFETY: a live descriptor and a live string; the new descriptor is ours.
    Some(match unsafe { libc::openat(mount.as_raw_fd(), rest.as_ptr(), flags | libc::O_CLOEXEC, mode) } {
        -1 => Err(io::Error::last_os_error()),
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    })
}

/// Return the descriptors of what was mounted here: a process that is forked off needs them as long as it
/// writes there.
pub fn descriptors() -> Vec<RawFd> {
    let mounts = KINDS.iter().filter_map(|kind| kind.mount.get()?.as_ref().ok());
    mounts.map(AsRawFd::as_raw_fd).collect()
}

/// Return a path relative to the directory that it is in, "." for the directory itself.
fn below<'a>(path: &'a str, place: &str) -> Option<&'a str> {
    match path.strip_prefix(place)?.trim_end_matches('/') {
        "" => Some("."),
        rest => rest.strip_prefix('/').map(|rest| rest.trim_start_matches('/')),
    }
}

fn is_mounted(kind: &Kind) -> bool {
    let mut about = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: a live string and room for the answer, which is read only where the call has filled it.
    unsafe {
        libc::statfs(kind.place.as_ptr(), about.as_mut_ptr()) == 0 && about.assume_init().f_type == kind.magic
    }
}

/// Mount a file system that has no place in the tree, or return the number of the error.
fn mount(name: &CStr) -> Result<OwnedFd, i32> {
    let null = std::ptr::null::<libc::c_char>();
    // SAFETY: live strings and descriptors; each result is checked before it is owned.
    unsafe {
        let context = owned(libc::syscall(libc::SYS_fsopen, name.as_ptr(), FSOPEN_CLOEXEC))?;
        let context = context.as_raw_fd();
        if libc::syscall(libc::SYS_fsconfig, context, FSCONFIG_CMD_CREATE, null, null, 0) != 0 {
            return Err(last_error());
        }
        owned(libc::syscall(libc::SYS_fsmount, context, FSMOUNT_CLOEXEC, NOSUID_NODEV_NOEXEC))
    }
}

/// Own a new descriptor.
///
/// # Safety
/// It is the result of a system call that opens one.
unsafe fn owned(result: libc::c_long) -> Result<OwnedFd, i32> {
    match RawFd::try_from(result) {
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(last_error()),
    }
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_place_they_are_in() {
        let debug = "/sys/kernel/debug";
        assert_eq!(below("/sys/kernel/debug/sched/features", debug), Some("sched/features"));
        assert_eq!(below("/sys/kernel/debug//sched", debug), Some("sched"));
        assert_eq!(below("/sys/kernel/debug/", debug), Some("."));
        assert_eq!(below("/sys/kernel/debug", debug), Some("."));
        assert_eq!(below("/sys/kernel/debugger", debug), None);
        assert_eq!(below("/proc/sys/kernel/debug", debug), None);
    }

    #[test]
    fn other_paths_are_not_opened_here() {
        assert!(open("/proc/self/stat", libc::O_RDONLY, 0).is_none());
    }

    #[test]
    fn a_file_system_that_the_kernel_does_not_have_is_an_error() {
        // ENODEV as root; EPERM for a user who may not mount (fsopen(2)).
        let error = mount(c"no such file system").unwrap_err();
        assert!([libc::ENODEV, libc::EPERM, libc::ENOSYS].contains(&error));
    }
}
