//! Sentences about cpusets: those of processes, those of others that stay on CPUs reserved for a program, and
//! the kernel's changes to ours.

use std::path::Path;

use super::controller::V2;
use super::cpus::{self, Cpus};
use super::cpuset::{hierarchy, others, tasks, Cpuset, NAME};
use super::tree::Tree;
use crate::source::file::{Buffer, Place as Source};
use crate::source::membership::Membership;

/// Return the cpuset of a process in either version, as a path of the machine, and its online CPUs; None if
/// that cannot be found out, as inside of a container.
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
    // A group of version 2 without the controller has the CPUs of the nearest group above that has it.
    let second = groups.iter().find(|group| group.controllers.is_empty())?;
    let mut above = Path::new(&second.directory).ancestors();
    above.find_map(|path| read(path, &["cpuset.cpus.effective"]))
}

/// Return the groups of others that stay on CPUs reserved for the program: in version 1 those that have no
/// other CPU (an empty set cannot be written), in version 2 none, since a partition takes its CPUs away from
/// all others. With each, whether it claims them for itself, so that no set of ours can have them.
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

/// Return the partitions of others in version 2 that have some of these CPUs.
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

/// Return a remark on a new set, if it is not what was requested.
pub fn remark(tree: &Tree, set: &Cpuset) -> Option<String> {
    if !set.gather {
        let kind = partition(tree, set);
        return match kind.as_str() {
            _ if set.version == 1 => shared(tree, set),
            "isolated" => None,
            "root" => Some(format!(
                "The kernel made CPUs {} a partition with load balancing among themselves, not an isolated one.",
                set.cpus
            )),
            kind => Some(format!(
                "The kernel did not make CPUs {} a partition ({kind}): others may still run there.",
                set.cpus
            )),
        };
    }
    let stayed = tasks(tree, hierarchy(set.version), set.version).len();
    (stayed > 0).then(|| {
        format!(
            "{stayed} kernel threads are bound to their CPUs and could not be moved away from the isolated ones."
        )
    })
}

/// Return the groups of others that stay on the program's CPUs.
fn shared(tree: &Tree, set: &Cpuset) -> Option<String> {
    let groups = keeping(tree, set.version, &cpus::parse(&set.cpus)?);
    let names: Vec<String> = groups.into_iter().map(|(path, _)| path).collect();
    let first = names.first()?;
    let have = if names.len() == 1 { "has" } else { "have" };
    Some(format!(
        "{} {have} no other CPUs than {}, so what is in there goes on running next to the program. Other CPUs for it: \
         echo LIST > {first}/cpuset.cpus.",
        names.join(", "),
        set.cpus
    ))
}

fn partition(tree: &Tree, set: &Cpuset) -> String {
    tree.read(&format!("{}/cpuset.cpus.partition", set.path())).unwrap_or_default()
}
