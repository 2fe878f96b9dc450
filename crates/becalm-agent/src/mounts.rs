//! The kernel's own file systems, mounted for this process alone where nobody has mounted them.
//!
//! The scheduler's times are in debugfs, the numbers of events in tracefs; many machines mount neither. In a mount
//! namespace of its own the agent leaves nothing behind, however it ends (mount_namespaces(7)). Programs begin in the
//! namespace that was there before: their starter has been made by then.

use std::ffi::CStr;
use std::mem;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

/// A kind of file system, where it belongs, and what statfs(2) calls it (include/uapi/linux/magic.h).
const KINDS: [(&CStr, &CStr, libc::c_long); 2] =
    [(c"debugfs", c"/sys/kernel/debug", 0x6462_6720), (c"tracefs", c"/sys/kernel/tracing", 0x7472_6163)];

/// A process that stays in the namespace that was there before.
static OUTSIDE: OnceLock<u32> = OnceLock::new();

/// The process whose mounts are the machine's, where they are not this process's own: what others mount later does not
/// arrive in a namespace of its own where mounts are not shared, as in guests and many containers.
pub fn outside() -> Option<u32> {
    OUTSIDE.get().copied()
}

/// Mount what is missing below this root, if it is the machine's own; `outside` stays in the namespace that was there
/// before. Nothing changes where that is not permitted.
pub fn add(root: &Path, outside: u32) {
    if root != Path::new("/") {
        return;
    }
    let missing: Vec<_> = KINDS.iter().filter(|(_, place, magic)| lacks(place, *magic)).collect();
    // SAFETY: no pointers.
    if missing.is_empty() || unsafe { libc::geteuid() } != 0 || !private() {
        return;
    }
    // Set once: there is one agent in a process.
    let _ = OUTSIDE.set(outside);
    for (kind, place, _) in missing {
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        // SAFETY: strings that end with a zero and live. What the kernel does not have stays away, as before.
        unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, ptr::null()) };
    }
}

/// Whether there is a directory for it and something else is mounted there.
fn lacks(place: &CStr, magic: libc::c_long) -> bool {
    // SAFETY: an all-zero statfs is valid, and both pointers are live.
    let (done, found) = unsafe {
        let mut found: libc::statfs = mem::zeroed();
        (libc::statfs(place.as_ptr(), &mut found), found)
    };
    done == 0 && found.f_type as libc::c_long != magic
}

/// Be in a mount namespace of its own, which gets what others mount and unmount and gives nothing back.
fn private() -> bool {
    // SAFETY: strings that end with a zero and live.
    unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                ptr::null(),
                c"/".as_ptr(),
                ptr::null(),
                libc::MS_REC | libc::MS_SLAVE,
                ptr::null(),
            ) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_mounted_again() {
        assert!(!lacks(c"/proc", 0x9fa0));
        assert!(lacks(c"/proc", KINDS[0].2));
        assert!(!lacks(c"/no/such/directory", KINDS[0].2), "there is no place for it");
    }
}
