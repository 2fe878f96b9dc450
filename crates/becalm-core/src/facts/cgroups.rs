//! Control groups: their version, the controllers, our own group, its limits and whether we may divide it.

use std::path::Path;

use serde_json::Value;

use super::read::{Known, Machine, Subject};
use crate::source::file::{Buffer, Place};
use crate::source::membership::{Group, Membership};

/// A mounted hierarchy, from /proc/self/mounts: version 2, or the controllers of a version 1 one.
struct Mount {
    path: String,
    version: u8,
    controllers: Vec<String>,
}

/// Collect layout, controllers and the group of this process.
pub fn collect(machine: &Machine) -> Value {
    let mut cgroups = Subject::default();
    let mounts = mounts(machine);
    let unified = unified(&mounts);
    let own = own(machine, &unified);
    let in_own = |name: &str| own.as_ref().map(|own| format!("{own}/{name}")).map_err(Clone::clone);
    cgroups.put("layout", mounts.as_ref().map_err(Clone::clone).and_then(|mounts| layout(mounts)));
    cgroups.put(
        "controllers",
        unified.clone().and_then(|path| words(machine, &format!("{path}/cgroup.controllers"))),
    );
    cgroups.put("controllers_v1", mounts.map(|mounts| legacy(&mounts)));
    cgroups.put("mount", unified.clone().map(|path| format!("/{path}")));
    cgroups.put("own", own.clone().map(|own| format!("/{own}")));
    cgroups.put(
        "writable",
        own.clone().and_then(|own| machine.writable(&format!("{own}/cgroup.procs"))).map(|()| true),
    );
    cgroups.put("kill", in_own("cgroup.kill").and_then(|path| present(machine, &path)));
    let quota = quota(machine, in_own("cpu.max"));
    cgroups.put("cpu_limit", quota.clone().map(|quota| quota.words));
    cgroups.put("cpu_limit_file", quota.map(|quota| format!("/{}", quota.file)));
    cgroups.put("cpus", cpus(machine, in_own("cpuset.cpus.effective")));
    cgroups.finish()
}

/// The CPU time that a group may use in each period, as version 2 spells it: "50000 100000" (us), or "max
/// 100000".
#[derive(Clone)]
struct Quota {
    words: String,
    file: String,
    /// The number of CPUs that it amounts to; infinite without a limit.
    cpus: f64,
}

/// Return the tightest quota of our groups and of those above them, in both versions: each limits all groups
/// below it.
fn quota(machine: &Machine, own: Known<String>) -> Known<Quota> {
    let mut quotas = Vec::new();
    for group in groups(machine) {
        let first = group.controllers.iter().any(|name| name == "cpu");
        if first || group.controllers.is_empty() {
            let above = std::iter::successors(Some(Path::new(&group.directory)), |path| path.parent());
            let read = |path: &Path| if first { of_v1(machine, path) } else { of_v2(machine, path) };
            quotas.extend(above.filter_map(read));
        }
    }
    // Of equal quotas the first counts: the nearest, in version 2 if it has none either.
    match quotas.into_iter().reduce(|best, next| if next.cpus < best.cpus { next } else { best }) {
        Some(quota) => Ok(quota),
        None => {
            let file = own?;
            Ok(Quota { words: machine.line(&file)?, file, cpus: f64::INFINITY })
        }
    }
}

fn of_v2(machine: &Machine, group: &Path) -> Option<Quota> {
    let file = format!("{}/cpu.max", group.display());
    let words = machine.line(&file).ok()?;
    let (quota, period) = words.split_once(' ')?;
    let cpus = match quota {
        "max" => f64::INFINITY,
        quota => quota.parse::<f64>().ok()? / period.parse::<f64>().ok().filter(|period| *period > 0.0)?,
    };
    Some(Quota { words, file, cpus })
}

/// Read a quota of version 1 (Documentation/scheduler/sched-bwc.rst); -1 is no limit.
fn of_v1(machine: &Machine, group: &Path) -> Option<Quota> {
    let file = format!("{}/cpu.cfs_quota_us", group.display());
    let quota: i64 = machine.number(&file).ok()?;
    let period: u64 = machine.number(&format!("{}/cpu.cfs_period_us", group.display())).ok()?;
    let limited = quota > 0 && period > 0;
    let words = if limited { format!("{quota} {period}") } else { format!("max {period}") };
    Some(Quota { words, file, cpus: if limited { quota as f64 / period as f64 } else { f64::INFINITY } })
}

/// Return the CPUs of our cpuset, in either version.
fn cpus(machine: &Machine, own: Known<String>) -> Known<String> {
    let second = own.and_then(|path| machine.line(&path));
    let first = || {
        let group = groups(machine)
            .into_iter()
            .find(|group| group.controllers.iter().any(|name| name == "cpuset"))?;
        let read = |file: &str| machine.line(&format!("{}/{file}", group.directory)).ok();
        read("cpuset.effective_cpus").or_else(|| read("cpuset.cpus")).filter(|text| !text.is_empty())
    };
    second.or_else(|reason| first().ok_or(reason))
}

/// Return our groups in all mounted hierarchies; none if that is not known.
fn groups(machine: &Machine) -> Vec<Group> {
    let mut membership = Membership::new(&Place::new(&machine.path("")));
    match membership.refresh(&mut Buffer::default()) {
        Ok(_) => membership.take(),
        Err(_) => Vec::new(),
    }
}

/// Return the mount point of a controller of version 1, without the leading slash.
pub fn legacy_mount(machine: &Machine, controller: &str) -> Option<String> {
    let mounts = mounts(machine).ok()?;
    mounts.into_iter().find(|m| m.controllers.iter().any(|name| name == controller)).map(|m| m.path)
}

fn mounts(machine: &Machine) -> Known<Vec<Mount>> {
    let text = machine.text("proc/self/mounts")?;
    let mount = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, path, kind, options, ..] = words[..] else { return None };
        let path = path.trim_start_matches('/').to_owned();
        match kind {
            "cgroup2" => Some(Mount { path, version: 2, controllers: Vec::new() }),
            "cgroup" => {
                const PLAIN: &[&str] =
                    &["rw", "ro", "nosuid", "nodev", "noexec", "relatime", "xattr", "clone_children"];
                let named = |option: &&str| !PLAIN.contains(option) && !option.contains('=');
                let controllers = options.split(',').filter(named).map(str::to_owned).collect();
                Some(Mount { path, version: 1, controllers })
            }
            _ => None,
        }
    };
    Ok(text.lines().filter_map(mount).collect())
}

fn layout(mounts: &[Mount]) -> Known<String> {
    let has = |version| mounts.iter().any(|mount| mount.version == version);
    match (has(1), has(2)) {
        (false, false) => Err("no control group file system is mounted".to_owned()),
        (true, true) => Ok("hybrid".to_owned()),
        (true, false) => Ok("v1".to_owned()),
        (false, true) => Ok("v2".to_owned()),
    }
}

fn legacy(mounts: &[Mount]) -> Vec<String> {
    let mut names: Vec<String> = mounts.iter().flat_map(|mount| mount.controllers.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn unified(mounts: &Known<Vec<Mount>>) -> Known<String> {
    let mounts = mounts.as_ref().map_err(Clone::clone)?;
    let found = mounts.iter().find(|mount| mount.version == 2).map(|mount| mount.path.clone());
    found.ok_or_else(|| "version 2 of control groups is not mounted".to_owned())
}

/// Return the directory of our group in the version 2 hierarchy.
fn own(machine: &Machine, unified: &Known<String>) -> Known<String> {
    let mount = unified.as_ref().map_err(Clone::clone)?;
    let text = machine.text("proc/self/cgroup")?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"));
    let path = path.ok_or_else(|| "/proc/self/cgroup names no version 2 group".to_owned())?;
    if path.contains("..") {
        return Err(format!("our group {path} lies outside what is mounted here"));
    }
    Ok(format!("{mount}{}", path.trim_end_matches('/')))
}

fn words(machine: &Machine, path: &str) -> Known<Vec<String>> {
    Ok(machine.text(path)?.split_whitespace().map(str::to_owned).collect())
}

fn present(machine: &Machine, path: &str) -> Known<bool> {
    if machine.exists(path) {
        return Ok(true);
    }
    Err(format!("/{path} does not exist (the root group has none; others since Linux 5.14)"))
}
