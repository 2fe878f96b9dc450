//! Controllers of control groups: in which version they are, and whether the root of version 2 hands one to the groups in
//! it (cgroup-v2.rst, Controlling Controllers).

use std::io;

use super::tree::Tree;

/// Whether grace periods, which moving tasks between groups waits for, are expedited: 0 or 1 (kernel/ksysfs.c).
pub const EXPEDITED: &str = "/sys/kernel/rcu_expedited";

/// The hierarchy of version 2.
pub const V2: &str = "/sys/fs/cgroup";

/// The file of the controllers that the root passes on.
pub const CONTROL: &str = "/sys/fs/cgroup/cgroup.subtree_control";

/// Return the version that a controller is available in, by a file that it has in version 1; an error is the reason for
/// none.
pub fn version(tree: &Tree, name: &str, of_v1: &str) -> Result<u8, String> {
    if is_listed(tree, &format!("{V2}/cgroup.controllers"), name).unwrap_or(false) {
        return Ok(2);
    }
    if tree.exists(of_v1) {
        return Ok(1);
    }
    Err(format!("the {name} controller is in no cgroup hierarchy mounted below /sys/fs/cgroup"))
}

/// Whether a file that lists controllers has this one.
pub fn is_listed(tree: &Tree, path: &str, name: &str) -> io::Result<bool> {
    Ok(tree.read(path)?.split_ascii_whitespace().any(|each| each == name))
}

/// Hand a controller on, or no more.
pub fn switch(tree: &Tree, name: &str, on: bool) -> io::Result<()> {
    tree.write(CONTROL, &format!("{}{name}", if on { '+' } else { '-' }))
}
