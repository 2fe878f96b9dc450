//! The caches: level, type, size, and the CPUs that share each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{json, Value};

use super::read::{Machine, Subject};

const CPUS: &str = "sys/devices/system/cpu";

/// Collect one entry for each level and type, with the lists of CPUs of all its instances.
pub fn collect(machine: &Machine) -> Value {
    let mut caches = Subject::default();
    let kinds = kinds(machine);
    caches.put(
        "levels",
        if kinds.is_empty() { Err(format!("/{CPUS}/cpu0/cache does not exist")) } else { Ok(kinds) },
    );
    caches.finish()
}

fn kinds(machine: &Machine) -> Vec<Value> {
    // The pairs of index and CPUs that were read already: all CPUs that share a cache describe it.
    let mut seen = BTreeSet::new();
    let mut kinds: BTreeMap<(u32, String, Option<u64>), Vec<String>> = BTreeMap::new();
    for cpu in machine.numbered(CPUS, "cpu").unwrap_or_default() {
        let directory = format!("{CPUS}/cpu{cpu}/cache");
        for index in machine.numbered(&directory, "index").unwrap_or_default() {
            let read = |name: &str| machine.line(&format!("{directory}/index{index}/{name}"));
            let Ok(shared) = read("shared_cpu_list") else { continue };
            if !seen.insert((index, shared.clone())) {
                continue;
            }
            let (Ok(level), Ok(kind)) = (read("level"), read("type")) else { continue };
            let Ok(level) = level.parse() else { continue };
            let size = read("size").ok().and_then(|text| bytes(&text));
            kinds.entry((level, kind.to_lowercase(), size)).or_default().push(shared);
        }
    }
    let entry = |((level, kind, size), shared): ((u32, String, Option<u64>), Vec<String>)| json!({"level": level, "type": kind, "size_bytes": size, "shared_cpu_lists": shared});
    kinds.into_iter().map(entry).collect()
}

/// Return "32K" or "2M" in bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
