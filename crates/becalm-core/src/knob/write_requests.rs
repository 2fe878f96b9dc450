//! Changes as requests for `becalm-helper`: the row of its table for each place, and the names that replace
//! `*` there.

use super::catalogue::find;
use super::changes::{Change, Changes};
use super::cpus;
use super::place::Place;
use super::table::{names_in, rows, WriteRequest, SIDE_EFFECTS};
use serde_json::{json, Value};

/// The rows of side effects whose places only root can find: the helper looks for all that exist.
const HIDDEN: &str = "/sys/kernel/debug/sched/domains/";

/// Return the fields of a request for these changes.
pub fn fields(changes: &Changes) -> Value {
    let write_requests: Vec<WriteRequest> = changes.writes.iter().filter_map(write_request).collect();
    let mut watched: Vec<(usize, Vec<String>)> = changes.watched.iter().filter_map(side_effect).collect();
    let moves = |change: &Change| {
        find(&change.knob).is_some_and(|knob| knob.moves.iter().any(|path| path.starts_with(HIDDEN)))
    };
    if !changes.offline.is_empty() || changes.writes.iter().any(moves) {
        let hidden = SIDE_EFFECTS.iter().enumerate().filter(|(_, pattern)| pattern.starts_with(HIDDEN));
        watched.extend(hidden.map(|(row, _)| (row, Vec::new())));
    }
    let (taken, offline) = (cpus::list(&changes.taken), cpus::list(&changes.offline));
    json!({"writes": write_requests, "watched": watched, "taken": taken, "offline": offline})
}

/// Return a write; None for a place that no row has.
pub fn write_request(change: &Change) -> Option<WriteRequest> {
    let kind = match &change.place {
        Place::Swap { .. } => "swap area".to_owned(),
        Place::Process { .. } => "service".to_owned(),
        Place::Threads { .. } => "process".to_owned(),
        Place::Cpuset(set) => format!("cpuset {}", if set.gather { "rest" } else { "isolated" }),
        Place::Weighted(_) => "weighted".to_owned(),
        Place::Controller { name } => format!("controller {name}"),
        Place::Latency => "latency".to_owned(),
        Place::File { path } | Place::Mask { path } | Place::Feature { path, .. } => path.clone(),
        Place::Affinity { .. } | Place::Arrival { .. } | Place::Member { .. } => return None,
    };
    let names = match &change.place {
        Place::Swap { area } => vec![area.clone()],
        Place::Process { pid, name, .. } => vec![pid.to_string(), name.clone()],
        Place::Threads { pid, start, .. } => vec![pid.to_string(), start.to_string()],
        Place::Cpuset(set) => vec![set.version.to_string(), set.cpus.clone(), set.mems.clone()],
        Place::Weighted(group) => vec![group.version.to_string()],
        _ => Vec::new(),
    };
    let of_row = |pattern: &str| match names.is_empty() && pattern.starts_with('/') {
        true => names_in(pattern, &kind).map(owned),
        false => (pattern == kind).then(|| names.clone()),
    };
    let (row, names) =
        rows(&change.knob).enumerate().find_map(|(row, (_, pattern, _))| Some((row, of_row(pattern)?)))?;
    let Change { knob, value, required, .. } = change.clone();
    Some(WriteRequest { knob, row, names, value, required })
}

/// Return the row and names of a place that changes with others; None for one that the helper finds by
/// itself.
pub fn side_effect(place: &Place) -> Option<(usize, Vec<String>)> {
    let path = match place {
        Place::File { path } | Place::Mask { path } => path.clone(),
        Place::Arrival { irq, .. } => format!("/proc/irq/{irq}/effective_affinity_list"),
        _ => return None,
    };
    let of_row = |(row, pattern): (usize, &&str)| Some((row, owned(names_in(pattern, &path)?)));
    SIDE_EFFECTS.iter().enumerate().find_map(of_row)
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}
