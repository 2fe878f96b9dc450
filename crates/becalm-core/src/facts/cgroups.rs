//! Control groups: which version, which controllers, our own group, what it limits and whether we may divide it.

use serde_json::Value;

use super::read::{Known, Machine, Subject};

/// A mounted hierarchy, from /proc/self/mounts: version 2, or the controllers of a version 1 one.
struct Mount {
    path: String,
    version: u8,
    controllers: Vec<String>,
}

/// Layout, controllers and the group this process is in.
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
    cgroups.put("cpu_limit", in_own("cpu.max").and_then(|path| machine.line(&path)));
    cgroups.put("cpus", in_own("cpuset.cpus.effective").and_then(|path| machine.line(&path)));
    cgroups.finish()
}

/// Where version 1 of a controller is mounted, without the leading slash.
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

/// The directory of our group in the version 2 hierarchy.
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
