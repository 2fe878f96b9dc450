//! The holder of a machine's lock, found by a process that may not open it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::lock::{describe_holder, holder, LOCK};
use crate::tree::Tree;

/// Describe the lock's holder; None when nobody has it or it cannot be found out.
pub fn seen_holder(tree: &Tree) -> Option<String> {
    holder(tree).unwrap_or_else(|_| listed(tree).then(|| describe_holder(tree)))
}

/// Return whether the kernel's list of locks has one on this file.
fn listed(tree: &Tree) -> bool {
    let Ok(inode) = tree.about(LOCK).map(|about| about.ino()) else { return false };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    // "1: FLOCK  ADVISORY  WRITE 4711 00:1a:2153 0 EOF" (proc_locks(5)): device and inode, the latter decimal.
    let on_it = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        fields.next() == Some("FLOCK")
            && fields.nth(3).and_then(|file| file.rsplit(':').next()) == Some(inode.to_string().as_str())
    };
    locks.lines().any(on_it)
}
