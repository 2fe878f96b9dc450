//! Cpusets of our own: one for the program, and on cgroup v1 one for everybody else (cpuset(7), cgroup-v2.rst).
//!
//! On v2 a partition takes its CPUs away from all other groups by itself. On v1 the tasks of the root set are gathered
//! into a set without those CPUs; kernel threads that are bound to a CPU stay where they are, and `remark` counts them.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::controller::{self, V2};
use super::cpus::{self, Cpus};
use super::tree::Tree;
use crate::source::file::{Buffer, Place as Source};
use crate::source::membership::Membership;

/// The controller.
pub const NAME: &str = "cpuset";

pub const PRESENT: &str = "present";
pub const ABSENT: &str = "absent";

/// Where the controller is mounted on v1.
pub const V1: &str = "/sys/fs/cgroup/cpuset";

/// What is written in a set of ours.
const FILES: &[&str] = &["cpuset.cpus", "cpuset.mems", "cpuset.cpus.partition"];

/// Tasks fork while they are moved: look again so often.
const PASSES: usize = 10;

/// A set that exists only while it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cpuset {
    pub path: String,
    pub version: u8,
    pub cpus: String,
    pub mems: String,
    /// Holds everybody but the program.
    pub gather: bool,
}

/// Which version the cpuset controller is available in; an error says why in none.
pub fn version(tree: &Tree) -> Result<u8, String> {
    controller::version(tree, NAME, &format!("{V1}/cpuset.cpus"))
}

/// The root of the hierarchy of a version.
pub fn hierarchy(version: u8) -> &'static str {
    if version == 2 {
        V2
    } else {
        V1
    }
}

/// The cpuset of a process in either version, as a path of the machine, and the online CPUs that it has; None where that
/// cannot be told, as from inside of a container.
pub fn of_process(tree: &Tree, pid: i32) -> Option<(String, Cpus)> {
    let mut membership = Membership::new(&Source::of_process(&tree.path("/"), u32::try_from(pid).ok()?));
    membership.refresh(&mut Buffer::default()).ok()?;
    let groups = membership.take();
    let (_, online) = tree.cpus();
    let read = |path: &Path, files: &[&str]| {
        let mut texts =
            files.iter().filter_map(|file| tree.read(&format!("/{}/{file}", path.display())).ok());
        let cpus: Cpus = cpus::parse(&texts.find(|text| !text.is_empty())?)?;
        let cpus: Cpus = cpus.intersection(&online).copied().collect();
        (!cpus.is_empty()).then(|| (format!("/{}", path.display()), cpus))
    };
    let first = groups.iter().find(|group| group.controllers.iter().any(|name| name == NAME));
    if let Some(group) = first {
        return read(Path::new(&group.directory), &["cpuset.effective_cpus", "cpuset.cpus"]);
    }
    // A group of version 2 without the controller has the CPUs of the nearest one above that has it.
    let second = groups.iter().find(|group| group.controllers.is_empty())?;
    let mut above = Path::new(&second.directory).ancestors();
    above.find_map(|path| read(path, &["cpuset.cpus.effective"]))
}

/// The groups of others that stay on CPUs which are to be the program's alone: of version 1 those that have no other CPU
/// (an empty set cannot be written), of version 2 none, since a partition takes its CPUs away from everybody. With each,
/// whether it claims them for itself, so that no set of ours can have them.
pub fn keeping(tree: &Tree, version: u8, reserved: &Cpus) -> Vec<(String, bool)> {
    let on = |path: &str| tree.read(path).is_ok_and(|text| text == "1");
    if version == 2 {
        return partitions(tree, reserved).into_iter().map(|path| (path, true)).collect();
    }
    let (_, online) = tree.cpus();
    let all = others(tree).into_iter().filter_map(|(file, held)| {
        let held: Cpus = held.intersection(&online).copied().collect();
        let group = file.strip_suffix("/cpuset.cpus")?.to_owned();
        let exclusive = on(&format!("{group}/cpuset.cpu_exclusive"));
        let only = !held.is_empty() && held.is_subset(reserved);
        (only && (exclusive || !tasks(tree, &group, 1).is_empty())).then_some((group, exclusive))
    });
    all.collect()
}

/// Partitions of others in version 2 that have some of these CPUs.
fn partitions(tree: &Tree, cpus: &Cpus) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![V2.to_owned()];
    while let Some(parent) = waiting.pop() {
        for name in tree.names(&parent) {
            let path = format!("{parent}/{name}");
            if name.starts_with("becalm-") || !tree.is_directory(&path) {
                continue;
            }
            let kind = tree.read(&format!("{path}/cpuset.cpus.partition")).unwrap_or_default();
            let set = ["cpuset.cpus.effective", "cpuset.cpus"].iter().find_map(|file| {
                tree.read(&format!("{path}/{file}")).ok().and_then(|text| cpus::parse(&text))
            });
            if matches!(kind.as_str(), "root" | "isolated") && set.is_some_and(|set| !set.is_disjoint(cpus)) {
                found.push(path.clone());
            }
            waiting.push(path);
        }
    }
    found.sort_unstable();
    found
}

/// All sets of v1 but the root and ours, parents before children, with their CPUs.
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

/// Whether this is the file of the CPUs of a set of v1.
pub fn is_cpus_file(path: &str) -> bool {
    let set = path.strip_prefix(V1).and_then(|rest| rest.strip_suffix("/cpuset.cpus"));
    set.is_some_and(|set| !set.split('/').skip(1).any(|name| matches!(name, "" | "." | "..")))
}

impl Cpuset {
    /// Whether this is a set that becalm makes.
    pub fn is_ours(&self) -> bool {
        let name = self.path.strip_prefix(hierarchy(self.version));
        matches!(self.version, 1 | 2) && matches!(name, Some("/becalm-isolated" | "/becalm-rest"))
    }

    /// Whether the set exists.
    pub fn read(&self, tree: &Tree) -> &'static str {
        if tree.is_directory(&self.path) {
            PRESENT
        } else {
            ABSENT
        }
    }

    /// Make it, or move its tasks back and remove it.
    pub fn write(&self, tree: &Tree, value: &str) -> io::Result<()> {
        if value == PRESENT {
            self.make(tree)
        } else {
            self.remove(tree)
        }
    }

    /// The file that a task is moved in by.
    pub fn tasks(&self) -> String {
        format!("{}/{}", self.path, members(self.version))
    }

    fn make(&self, tree: &Tree) -> io::Result<()> {
        match tree.make_directory(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.set(tree, "cpuset.cpus", &self.cpus)?;
        self.set(tree, "cpuset.mems", &self.mems)?;
        if self.version == 2 {
            // Needed from 6.7 on, where a partition need not be a child of the root; absent before.
            if tree.live && tree.exists(&format!("{}/cpuset.cpus.exclusive", self.path)) {
                self.set(tree, "cpuset.cpus.exclusive", &self.cpus)?;
            }
            // An isolated partition has no load balancing; kernels before 6.1 only know root.
            for kind in ["isolated", "root"] {
                if self.set(tree, "cpuset.cpus.partition", kind).is_ok() && self.partition(tree) == kind {
                    break;
                }
            }
        }
        if self.gather {
            move_tasks(tree, hierarchy(self.version), &self.path, self.version)?;
        }
        Ok(())
    }

    fn remove(&self, tree: &Tree) -> io::Result<()> {
        if self.read(tree) == ABSENT {
            return Ok(());
        }
        if self.version == 2 {
            // Without it the CPUs would stay exclusive until the directory is gone; a failure shows there.
            drop(self.set(tree, "cpuset.cpus.partition", "member"));
        }
        dissolve(tree, &self.path, hierarchy(self.version), self.version, FILES)
    }

    /// What a person should know about a set that was just made.
    pub fn remark(&self, tree: &Tree) -> Option<String> {
        if !self.gather {
            let kind = self.partition(tree);
            return match kind.as_str() {
                _ if self.version == 1 => self.shared(tree),
                "isolated" => None,
                "root" => Some(format!(
                    "The kernel made CPUs {} a partition with load balancing among themselves, not an isolated one.",
                    self.cpus
                )),
                kind => Some(format!(
                    "The kernel did not make CPUs {} a partition ({kind}): others may still run there.",
                    self.cpus
                )),
            };
        }
        let stayed = tasks(tree, hierarchy(self.version), self.version).len();
        (stayed > 0).then(|| {
            format!(
                "{stayed} kernel threads are bound to their CPUs and could not be moved away from the isolated ones."
            )
        })
    }

    /// Return the groups of others that stay on the program's CPUs.
    fn shared(&self, tree: &Tree) -> Option<String> {
        let groups = keeping(tree, self.version, &cpus::parse(&self.cpus)?);
        let names: Vec<String> = groups.into_iter().map(|(path, _)| path).collect();
        let first = names.first()?;
        let have = if names.len() == 1 { "has" } else { "have" };
        Some(format!(
            "{} {have} no other CPUs than {}, so what is in there goes on running next to the program. Other CPUs for it: \
             echo LIST > {first}/cpuset.cpus.",
            names.join(", "),
            self.cpus
        ))
    }

    fn partition(&self, tree: &Tree) -> String {
        tree.read(&format!("{}/cpuset.cpus.partition", self.path)).unwrap_or_default()
    }

    fn set(&self, tree: &Tree, file: &str, value: &str) -> io::Result<()> {
        let path = format!("{}/{file}", self.path);
        if !tree.live {
            return tree.replace(&path, format!("{value}\n").as_bytes());
        }
        tree.write(&path, value)
    }
}

/// Move the tasks of a group to another one and remove it. `files`: what was written in it.
pub fn dissolve(tree: &Tree, group: &str, into: &str, version: u8, files: &[&str]) -> io::Result<()> {
    let mut last = Ok(());
    for attempt in 0..PASSES as u32 {
        move_tasks(tree, group, into, version)?;
        if !tree.live {
            // Its files are the kernel's, and go with it.
            for file in files.iter().chain(&[members(version)]) {
                drop(tree.remove_file(&format!("{group}/{file}")));
            }
        }
        last = tree.remove_directory(group);
        match &last {
            // Tasks that are just ending, of a killed agent many; in all a second.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(Duration::from_millis(1 << attempt));
            }
            _ => break,
        }
    }
    last
}

/// The file of a group's tasks.
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

/// Move all tasks that let themselves be moved.
fn move_tasks(tree: &Tree, from: &str, to: &str, version: u8) -> io::Result<()> {
    let target = format!("{to}/{}", members(version));
    if !tree.live {
        // In this order: another restorer that has just moved them must not be undone.
        let come = tasks(tree, from, version);
        if come.is_empty() {
            return Ok(());
        }
        let mut all = tasks(tree, to, version);
        all.extend(come.into_iter().filter(|task| !all.contains(task)).collect::<Vec<_>>());
        let lines: String = all.iter().map(|task| format!("{task}\n")).collect();
        tree.replace(&target, lines.as_bytes())?;
        return tree.replace(&format!("{from}/{}", members(version)), b"");
    }
    let mut refused: Vec<String> = Vec::new();
    // Opened once for all of them.
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
