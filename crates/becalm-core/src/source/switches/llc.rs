//! The CPUs that share a last-level cache, according to sysfs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::cpus::{parse, Cpus};

/// Return the CPUs of each last-level cache among these; CPUs whose caches are not known form a cache
/// together.
pub fn of(cpus: &Cpus, root: &Path) -> Vec<Vec<u32>> {
    let sets: BTreeSet<Cpus> = cpus
        .iter()
        .map(|cpu| shares(*cpu, root).unwrap_or_else(|| cpus.clone()).intersection(cpus).copied().collect())
        .collect();
    // If the cache of one CPU is not known, the cache of all includes CPUs of the others too.
    let mut named = Cpus::new();
    let apart = |set: Cpus| {
        let rest: Vec<u32> = set.difference(&named).copied().collect();
        named.extend(&set);
        rest
    };
    sets.into_iter().map(apart).filter(|set| !set.is_empty()).collect()
}

fn shares(cpu: u32, root: &Path) -> Option<Cpus> {
    let caches = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache"));
    let read = |path: &Path, file: &str| fs::read_to_string(path.join(file)).ok();
    let level = |path: &Path| read(path, "level")?.trim().parse::<u32>().ok();
    let indices = fs::read_dir(caches).ok()?.flatten().map(|entry| entry.path());
    let last = indices.filter_map(|path| Some((level(&path)?, path))).max()?.1;
    parse(&read(&last, "shared_cpu_list")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_counts_and_unknown_cpus_share_it() {
        let root = std::env::temp_dir().join(format!("becalm-llc-{}", std::process::id()));
        for (cpu, index, level, list) in
            [(0, 0, 1, "0"), (0, 3, 3, "0-1"), (1, 3, 3, "0-1"), (2, 3, 3, "2-3"), (3, 3, 3, "2-3")]
        {
            let path = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("level"), format!("{level}\n")).unwrap();
            fs::write(path.join("shared_cpu_list"), format!("{list}\n")).unwrap();
        }
        assert_eq!(of(&Cpus::from([0, 1, 2, 3]), &root), [vec![0, 1], vec![2, 3]]);
        assert_eq!(of(&Cpus::from([0, 2]), &root), [vec![0], vec![2]]);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(of(&Cpus::from([0, 1]), &root), [vec![0, 1]]);
    }
}
