//! Controllers of control groups: the version that has each, and whether the root of version 2 passes it on
//! to the groups below (cgroup-v2.rst, Controlling Controllers).

use std::io;

use super::tree::Tree;

/// Whether the kernel expedites grace periods, for which a task waits that moves to another group: 0 or 1
/// (kernel/ksysfs.c).
pub const EXPEDITED: &str = "/sys/kernel/rcu_expedited";

/// The hierarchy of version 2.
pub const V2: &str = "/sys/fs/cgroup";

/// The file of the controllers that the root passes on.
pub const CONTROL: &str = "/sys/fs/cgroup/cgroup.subtree_control";

/// Return the version that a controller is available in; `of_v1` is a file that it has in version 1. An error
/// is the reason why there is none.
pub fn version(tree: &Tree, name: &str, of_v1: &str) -> Result<u8, String> {
    if is_listed(tree, &format!("{V2}/cgroup.controllers"), name).unwrap_or(false) {
        return Ok(2);
    }
    if tree.exists(of_v1) {
        return Ok(1);
    }
    Err(format!("the {name} controller is in no cgroup hierarchy mounted below /sys/fs/cgroup"))
}

/// Return whether a file that lists controllers contains this one.
pub fn is_listed(tree: &Tree, path: &str, name: &str) -> io::Result<bool> {
    Ok(tree.read(path)?.split_ascii_whitespace().any(|each| each == name))
}

/// Pass a controller on to the groups below, or stop that.
pub fn switch(tree: &Tree, name: &str, on: bool) -> io::Result<()> {
    tree.write(CONTROL, &format!("{}{name}", if on { '+' } else { '-' }))
}
