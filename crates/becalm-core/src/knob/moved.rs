//! Files that the kernel writes itself when another one is written, by the patterns that rows of the catalogue name.
//!
//! A `*` in a pattern stands for any letters within one name. CPUs that are offline have no such files.

use super::place::Place;
use super::tree::Tree;

/// The values of frequency governors: a governor forgets its own when the last policy leaves it
/// (cpufreq_dbs_governor_exit in drivers/cpufreq/cpufreq_governor.c), by another governor or by the end of its CPUs.
pub const GOVERNORS: &[&str] = &[
    "/sys/devices/system/cpu/cpufreq/conservative/*",
    "/sys/devices/system/cpu/cpufreq/ondemand/*",
    "/sys/devices/system/cpu/cpufreq/schedutil/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/conservative/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/ondemand/*",
    "/sys/devices/system/cpu/cpu*/cpufreq/schedutil/*",
];

/// The load balancing of each group of CPUs: the kernel makes all groups anew when CPUs come or go and when cpusets
/// divide them (register_sched_domain_sysctl in kernel/sched/debug.c), with the values that it begins with.
pub const DOMAINS: &[&str] = &[
    "/sys/kernel/debug/sched/domains/cpu*/domain*/busy_factor",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/cache_nice_tries",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/imbalance_pct",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/max_interval",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/min_interval",
];

/// The places of a machine that match one of these patterns.
pub fn places<'a>(tree: &'a Tree, patterns: &[&str]) -> impl Iterator<Item = Place> + 'a {
    files(tree, patterns).into_iter().map(place)
}

/// Whether a place is a file, or a mask of CPUs, that matches one of these patterns.
pub fn owns(patterns: &[&str], place: &Place) -> bool {
    match place {
        Place::File { path } | Place::Mask { path } => matches(patterns, path),
        _ => false,
    }
}

/// The place that a file is: those of CPUs hold masks.
fn place(path: String) -> Place {
    match path.ends_with("/cpumask") || path.ends_with("_cpus") {
        true => Place::Mask { path },
        false => Place::File { path },
    }
}

/// The files of a machine that match one of these patterns and can be written.
fn files(tree: &Tree, patterns: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for pattern in patterns {
        let mut paths = vec![String::new()];
        for part in pattern.trim_start_matches('/').split('/') {
            paths = paths.iter().flat_map(|path| below(tree, path, part)).collect();
        }
        let writable = |path: &String| tree.mode(path).is_ok_and(|mode| mode & 0o200 != 0);
        all.extend(paths.into_iter().filter(writable));
    }
    all
}

/// Whether a path matches one of these patterns.
fn matches(patterns: &[&str], path: &str) -> bool {
    patterns.iter().any(|pattern| {
        let (mut parts, mut names) = (pattern.split('/'), path.split('/'));
        let same = parts.by_ref().zip(names.by_ref()).all(|(part, name)| fits(part, name));
        same && pattern.split('/').count() == path.split('/').count()
    })
}

fn below(tree: &Tree, directory: &str, part: &str) -> Vec<String> {
    if !part.contains('*') {
        return vec![format!("{directory}/{part}")];
    }
    let mut names = tree.names(directory);
    names.retain(|name| fits(part, name));
    names.sort_unstable();
    names.into_iter().map(|name| format!("{directory}/{name}")).collect()
}

/// Whether a name fits a part of a pattern with one `*` at most.
fn fits(part: &str, name: &str) -> bool {
    match part.split_once('*') {
        None => part == name,
        Some((begin, end)) => {
            !matches!(name, "" | "." | "..")
                && name.len() >= begin.len() + end.len()
                && name.starts_with(begin)
                && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_pattern_stands_for_names_not_for_directories() {
        let patterns = &["/sys/cpu/cpu*/cpufreq/boost", "/a/*"];
        assert!(matches(patterns, "/sys/cpu/cpu12/cpufreq/boost"));
        assert!(matches(patterns, "/a/b"));
        for path in
            ["/sys/cpu/cpu1/x/cpufreq/boost", "/sys/cpu/cpu1/cpufreq/boost/x", "/a", "/a/", "/a/..", "/a/b/c"]
        {
            assert!(!matches(patterns, path), "{path}");
        }
    }

    #[test]
    fn files_are_those_that_are_there_and_can_be_written() {
        let root = std::env::temp_dir().join(format!("becalm-moved-{}", std::process::id()));
        for (path, mode) in [
            ("cpu0/x/boost", 0o644),
            ("cpu10/x/boost", 0o644),
            ("cpu2/x/boost", 0o444),
            ("id/x/boost", 0o644),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "1\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let tree = Tree::new(&root);
        assert_eq!(files(&tree, &["/cpu*/x/boost", "/no/*"]), ["/cpu0/x/boost", "/cpu10/x/boost"]);
        fs::remove_dir_all(root).unwrap();
    }
}
