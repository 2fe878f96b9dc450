//! Cpusets of our own: one for the program, and on cgroup v1 one for everybody else (cpuset(7), cgroup-v2.rst).
//!
//! On v2 a partition takes its CPUs away from all other groups by itself. On v1 the tasks of the root set are gathered
//! into a set without those CPUs; kernel threads that are bound to a CPU stay where they are, and `remark` counts them.

use std::io::{self, Write};
use std::time::Duration;

use super::controller::{self, V2};
use super::cpus::{self, Cpus};
pub use super::place::Cpuset;
use super::tree::Tree;

/// The controller.
pub const NAME: &str = "cpuset";

pub const PRESENT: &str = "present";
pub const ABSENT: &str = "absent";

/// Where the controller is mounted on v1.
pub const V1: &str = "/sys/fs/cgroup/cpuset";

/// The file of the partition type of a set of v2.
const PARTITION: &str = "cpuset.cpus.partition";

/// Files that becalm writes in a set of its own.
#[cfg(any(test, feature = "unprivileged"))]
pub const FILES: &[&str] = &["cpuset.cpus", "cpuset.mems", PARTITION];

/// The number of passes that move tasks: tasks fork while they are moved.
const PASSES: usize = 10;

/// Return the version that the cpuset controller is available in; an error is the reason why there is none.
pub fn version(tree: &Tree) -> Result<u8, String> {
    controller::version(tree, NAME, &format!("{V1}/cpuset.cpus"))
}

/// Return the root of the hierarchy of a version.
pub fn hierarchy(version: u8) -> &'static str {
    if version == 2 {
        V2
    } else {
        V1
    }
}

/// Return all sets of v1 except the root and ours, parents before children, with their CPUs.
pub fn others(tree: &Tree) -> Vec<(String, Cpus)> {
    let mut found = Vec::new();
    let mut waiting = vec![V1.to_owned()];
    while let Some(parent) = waiting.pop() {
        for name in tree.names(&parent) {
            let path = format!("{parent}/{name}");
            if name.starts_with("becalm-") || !tree.is_directory(&path) {
                continue;
            }
            let set = tree.read(&format!("{path}/cpuset.cpus")).ok().and_then(|text| cpus::parse(&text));
            if let Some(set) = set {
                found.push((format!("{path}/cpuset.cpus"), set));
            }
            waiting.push(path);
        }
    }
    found.sort_unstable_by_key(|(path, _)| path.matches('/').count());
    found
}

/// Return whether this is the file of the CPUs of a set of v1.
pub fn is_cpus_file(path: &str) -> bool {
    let set = path.strip_prefix(V1).and_then(|rest| rest.strip_suffix("/cpuset.cpus"));
    set.is_some_and(|set| !set.split('/').skip(1).any(|name| matches!(name, "" | "." | "..")))
}

impl Cpuset {
    /// Return its directory.
    pub fn path(&self) -> String {
        format!("{}/becalm-{}", hierarchy(self.version), if self.gather { "rest" } else { "isolated" })
    }

    /// Return whether the set exists.
    pub fn read(&self, tree: &Tree) -> &'static str {
        if tree.is_directory(&self.path()) {
            PRESENT
        } else {
            ABSENT
        }
    }

    /// Create it, or move its tasks back and remove it.
    pub fn write(&self, tree: &Tree, value: &str) -> io::Result<()> {
        if value == PRESENT {
            self.make(tree)
        } else {
            self.remove(tree)
        }
    }

    /// Return the file that moves a task into the set.
    pub fn tasks(&self) -> String {
        format!("{}/{}", self.path(), members(self.version))
    }

    fn make(&self, tree: &Tree) -> io::Result<()> {
        let path = self.path();
        match tree.make_directory(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let set = |file: &str, value: &str| tree.write(&format!("{path}/{file}"), value);
        set("cpuset.cpus", &self.cpus)?;
        set("cpuset.mems", &self.mems)?;
        if self.version == 2 {
            // Needed from 6.7 on, where the parent of a partition need not be the root; earlier kernels have
            // no such file.
            if tree.exists(&format!("{path}/cpuset.cpus.exclusive")) {
                set("cpuset.cpus.exclusive", &self.cpus)?;
            }
            // An isolated partition has no load balancing; kernels before 6.1 only know root.
            for kind in ["isolated", "root"] {
                if set(PARTITION, kind).is_ok() && tree.read(&format!("{path}/{PARTITION}"))? == kind {
                    break;
                }
            }
        }
        match self.gather {
            true => move_tasks(tree, hierarchy(self.version), &path, self.version),
            false => Ok(()),
        }
    }

    fn remove(&self, tree: &Tree) -> io::Result<()> {
        if self.read(tree) == ABSENT {
            return Ok(());
        }
        if self.version == 2 {
            // Otherwise the CPUs would stay exclusive until the directory is removed; a failure shows there.
            drop(tree.write(&format!("{}/{PARTITION}", self.path()), "member"));
        }
        dissolve(tree, &self.path(), hierarchy(self.version), self.version)
    }
}

/// Move the tasks of a group to another one and remove it.
pub fn dissolve(tree: &Tree, group: &str, into: &str, version: u8) -> io::Result<()> {
    let mut last = Ok(());
    for attempt in 0..PASSES as u32 {
        move_tasks(tree, group, into, version)?;
        last = tree.remove_directory(group);
        match &last {
            // Tasks are still ending, of a killed agent many; the retries take a second in all.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(Duration::from_millis(1 << attempt));
            }
            _ => break,
        }
    }
    last
}

/// Return the file of a group's tasks.
pub fn members(version: u8) -> &'static str {
    if version == 2 {
        "cgroup.procs"
    } else {
        "tasks"
    }
}

pub fn tasks(tree: &Tree, set: &str, version: u8) -> Vec<String> {
    let text = tree.read(&format!("{set}/{}", members(version))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Move all tasks that can be moved.
fn move_tasks(tree: &Tree, from: &str, to: &str, version: u8) -> io::Result<()> {
    let target = format!("{to}/{}", members(version));
    let mut refused: Vec<String> = Vec::new();
    // Opened once for all tasks.
    let mut door = tree.open(&target, libc::O_WRONLY, 0)?;
    for _ in 0..PASSES {
        let waiting: Vec<String> =
            tasks(tree, from, version).into_iter().filter(|task| !refused.contains(task)).collect();
        if waiting.is_empty() {
            break;
        }
        for task in waiting {
            match door.write_all(task.as_bytes()) {
                Ok(()) => {}
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EBUSY)) => {
                    refused.push(task);
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
