//! A control group of the program's own, for its share of the CPUs (cgroup-v2.rst, cpu.weight; cpu.shares of v1).
//!
//! Its value is its weight on the scale of v2, where every group has 100 by default: on v1, where that is
//! 1024, it is converted as the kernel does it (kernel/sched/sched.h, sched_weight_from_cgroup and
//! sched_weight_to_cgroup).

use std::io;

use super::controller::V2;
use super::cpuset::{dissolve, members, ABSENT};
pub use super::place::Weighted;
use super::tree::Tree;

/// Where the controller is mounted on v1.
pub const V1: &str = "/sys/fs/cgroup/cpu";
const NAME: &str = "becalm-weighted";

impl Weighted {
    /// Return its directory.
    pub fn path(&self) -> String {
        format!("{}/{NAME}", self.above())
    }

    /// Return its parent.
    pub fn above(&self) -> &'static str {
        if self.version == 2 {
            V2
        } else {
            V1
        }
    }

    /// Return its weight, or that it does not exist.
    pub fn read(&self, tree: &Tree) -> io::Result<String> {
        if !tree.is_directory(&self.path()) {
            return Ok(ABSENT.to_owned());
        }
        let text = tree.read(&self.file())?;
        let number = text.parse::<u64>().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        Ok(if self.version == 2 { number } else { (number * 100 + 512) / 1024 }.to_string())
    }

    /// Create it, or move its tasks back and remove it.
    pub fn write(&self, tree: &Tree, value: &str) -> io::Result<()> {
        let path = self.path();
        if value == ABSENT {
            return match tree.is_directory(&path) {
                true => dissolve(tree, &path, self.above(), self.version),
                false => Ok(()),
            };
        }
        let number = self.spelled(value)?;
        match tree.make_directory(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        tree.write(&self.file(), &number.to_string())
    }

    /// Return a weight as its file accepts it.
    pub fn spelled(&self, value: &str) -> io::Result<u64> {
        let weight = value.parse::<u64>().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        Ok(if self.version == 2 { weight } else { (weight * 1024 + 50) / 100 })
    }

    /// Return the file that moves a task into the group.
    pub fn tasks(&self) -> String {
        format!("{}/{}", self.path(), members(self.version))
    }

    fn file(&self) -> String {
        format!("{}/{}", self.path(), self.name())
    }

    pub fn name(&self) -> &'static str {
        if self.version == 2 {
            "cpu.weight"
        } else {
            "cpu.shares"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    #[test]
    fn a_weight_is_on_the_scale_of_version_2_on_both() {
        for version in [1, 2] {
            let root = std::env::temp_dir().join(format!("becalm-weight-{version}-{}", std::process::id()));
            let tree = Tree::new(&root);
            let group = Weighted { version };
            std::fs::create_dir_all(tree.path(group.above())).unwrap();
            let write = |value: &str| Place::Weighted(group.clone()).write(&tree, value);
            assert_eq!(group.read(&tree).unwrap(), ABSENT);
            for weight in ["1", "50", "100", "3333", "10000"] {
                write(weight).unwrap();
                assert_eq!(group.read(&tree).unwrap(), weight, "version {version}");
            }
            write("100").unwrap();
            let held = tree.read(&group.file()).unwrap();
            assert_eq!(held, if version == 2 { "100" } else { "1024" });
            std::fs::write(tree.path(&group.tasks()), "").unwrap();
            write(ABSENT).unwrap();
            assert_eq!(group.read(&tree).unwrap(), ABSENT);
            drop(std::fs::remove_dir_all(&root));
        }
    }
}
