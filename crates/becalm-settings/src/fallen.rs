//! Tasks that fell out of an empty cpuset of v1 (`member`), as the journal records them: the sets in which
//! they were, and the tasks that belong there with them.

use std::collections::HashMap;

use super::entry::Entry;
use super::member::{is_above, of_task};
use super::place::Place;
use super::task::{self, start_and_state};
use super::tree::Tree;
use crate::pid_stat::PidStat;

/// Return the sets in which these places were.
pub fn sets(entries: &[Entry]) -> impl Iterator<Item = &str> {
    let member = |entry: &&Entry| matches!(entry.place, Place::Member { .. });
    entries.iter().filter(member).map(|entry| entry.original.as_str())
}

/// Move the processes that fallen tasks have started since into the set, too: threads and children belong
/// where the tasks were. `entries` are the restored places.
pub fn rejoin(tree: &Tree, entries: &[Entry]) {
    let member = |entry: &Entry| match entry.place {
        Place::Member { tid, .. } => Some((tid, entry.original.clone())),
        _ => None,
    };
    let mut sets: HashMap<i32, String> = entries.iter().filter_map(member).collect();
    if sets.is_empty() {
        return;
    }
    // Children have higher numbers than their parents, except when the numbers have just started over.
    for pid in tree.numbered("/proc", "") {
        let pid = pid as i32;
        let of = |pid: i32, set: &HashMap<i32, String>| set.get(&pid).cloned();
        let Some(set) = of(pid, &sets).or_else(|| of(parent(tree, pid)?, &sets)) else { continue };
        sets.entry(pid).or_insert_with(|| set.clone());
        for tid in task::threads(tree, pid as u32) {
            if of_task(tree, tid).is_ok_and(|now| is_above(&now, &set)) {
                // The task may have ended; a set that accepts no task was reported already.
                let start = start_and_state(tree, tid).map(|(start, _)| start);
                drop(start.map(|start| Place::Member { tid, start }.write(tree, &set)));
            }
        }
    }
}

fn parent(tree: &Tree, pid: i32) -> Option<i32> {
    let text = tree.bytes(&format!("/proc/{pid}/stat")).ok()?;
    i32::try_from(PidStat::parse(&text)?.at(4)?).ok()
}
