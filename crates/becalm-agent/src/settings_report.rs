//! Reports about settings: what can be set on a machine, what a plan would change, and what is set. Nothing
//! is changed.

use becalm_core::knob::catalogue::CATALOGUE;
use becalm_core::knob::changes::{Change, Changes};
use becalm_core::knob::domain::{range, Kind};
use becalm_core::knob::entry::Entry;
use becalm_core::knob::interrupt_words::{sentences, staying_away};
use becalm_core::knob::journal;
use becalm_core::knob::resolve::{resolve, Values};
use becalm_core::knob::restore::{unsettled, Restored};
use becalm_core::knob::row::Knob;
use becalm_core::knob::tree::Tree;
use serde_json::{json, Value};

use crate::abandoned_groups::Groups;
use crate::protocol::Failure;

/// Return the catalogue with the state of each knob on this machine.
pub fn knobs(tree: &Tree) -> Value {
    CATALOGUE.iter().map(|knob| row(knob, tree)).collect()
}

/// Return the planned changes: knob, place, current and new value.
pub fn plan(tree: &Tree, changes: &Changes) -> Value {
    let step = |change: &Change| {
        let now = change.place.read(tree);
        json!({
            "knob": change.knob,
            "place": change.place.shown(),
            "from": now.as_ref().ok(),
            "to": change.value,
            "changes": now.is_ok_and(|now| !change.place.agree(&now, &change.value)),
        })
    };
    changes.writes.iter().map(step).collect()
}

/// Update a plan with its outcome: a place that refused its value has not changed, and an interrupt that was
/// on its way back when it was planned has the mask from before becalm, not the one that brings it back.
pub fn done(tree: &Tree, changes: &Changes, mut planned: Value) -> Value {
    let recorded = journal::load(tree).ok().flatten();
    let entries = recorded.map_or(Vec::new(), |recorded| recorded.entries);
    for (change, step) in changes.writes.iter().zip(planned.as_array_mut().into_iter().flatten()) {
        let (Ok(now), Some(before)) = (change.place.read(tree), step["from"].as_str()) else {
            continue;
        };
        if change.place.agree(&now, before) && !change.place.agree(&now, &change.value) {
            step["changes"] = false.into();
        }
        if change.place.irq().is_some() {
            if let Some(entry) = entries.iter().find(|entry| entry.place == change.place) {
                step["from"] = entry.original.clone().into();
                step["changes"] = (!change.place.agree(&now, &entry.original)).into();
            }
        }
    }
    planned
}

/// Return who has set what, and when; `busy` names the current user of the machine.
pub fn status(tree: &Tree, busy: Option<String>) -> Result<Value, Failure> {
    let note = journal::noted(tree);
    let found = journal::load(tree)?;
    let elsewhere = sentences(tree);
    let groups = Groups::find(tree).listed();
    let Some(found) = found else {
        return Ok(json!({
            "journal": null, "busy": busy, "note": note, "elsewhere": elsewhere, "groups": groups,
        }));
    };
    let place = |entry: &Entry| {
        let now = entry.place.read(tree).ok();
        // A study gives a place several values in turn.
        let same = |ours: &&String| now.as_ref().is_some_and(|now| entry.place.agree(now, ours));
        let ours = entry.ours.iter().find(same).or(entry.ours.last());
        json!({
            "knob": entry.knob,
            "place": entry.place.shown(),
            "original": entry.original,
            "ours": ours,
            "asked": ours.and_then(|ours| entry.made_of.get(ours)),
            "now": now,
            "side_effect": entry.side_effect,
        })
    };
    Ok(json!({
        "journal": {
            "title": found.begin.title,
            "user": found.begin.user,
            "pid": found.begin.pid,
            "at": found.begin.at,
            "this_boot": found.begin.boot == journal::boot_id(tree),
            "kept": found.kept,
            "damaged": found.damaged,
            "places": found.entries.iter().filter(|entry| entry.may_hold_ours()).map(place).collect::<Vec<_>>(),
        },
        "busy": busy,
        "note": note,
        "elsewhere": elsewhere,
        "groups": groups,
    }))
}

/// Return the outcome of restoring for the answer to a request.
pub fn restored(tree: &Tree, places: &[Restored], sentence: &str) -> Value {
    let report = json!({"places": places, "unsettled": unsettled(places), "sentence": sentence});
    with_interrupts(tree, report)
}

/// Add the interrupts that are not back yet to a report of what another process has restored.
pub fn with_interrupts(tree: &Tree, mut report: Value) -> Value {
    report["elsewhere"] = sentences(tree).into();
    report["staying"] = staying_away(tree).into();
    report
}

/// Return a row of the catalogue with the knob's state on this machine, and its domain limited to it.
fn row(knob: &'static Knob, tree: &Tree) -> Value {
    let state = knob.state(tree);
    let mut row = json!(knob);
    match (knob.domain.kind, knob.act.limits(tree)) {
        (Kind::Listed { path }, _) => {
            let text = tree.read(path).unwrap_or_default();
            let choices: Vec<&str> = text.split_ascii_whitespace().collect();
            if !choices.is_empty() {
                row["domain"] =
                    json!({"kind": "words", "choices": choices, "special": [], "words": choices.join(", ")});
            }
        }
        (Kind::Range { unit, scale, .. }, Some((low, high))) => {
            row["domain"] = json!(range(low, high, unit, scale).or(knob.domain.special));
        }
        _ => {}
    }
    let tuned = knob.act.tuned(tree, knob);
    row["tuned_value"] = json!(tuned);
    row["costs"] = json!(costs(knob, tree, tuned.filter(|_| state.is_ok())));
    row["supported"] = json!(state.is_ok());
    row["value"] = json!(state.as_ref().ok().filter(|value| !value.is_empty()));
    row["reason"] = json!(state.err());
    row
}

/// Return the costs of a knob, including those of a value on this machine that last longer than the setting.
fn costs(knob: &'static Knob, tree: &Tree, value: Option<&str>) -> String {
    let values = value.map(|value| Values::from([(knob.name, (knob, value.to_owned()))]));
    let lasting = values.and_then(|values| resolve(tree, &values).ok()).map(|(_, lasting)| lasting);
    let own = format!("{}: ", knob.name);
    let sentences = lasting.unwrap_or_default();
    let parts = sentences.iter().map(|each| each.trim_start_matches(&own).trim_end_matches('.').to_owned());
    std::iter::once(knob.costs.to_owned()).chain(parts).collect::<Vec<_>>().join("; ")
}
