//! Resolution of settings to changes: the places that get values on this machine, in which order, or why that
//! is impossible.
//!
//! `resolve` is called when settings are defined or applied. It changes nothing.

use std::collections::BTreeMap;

use super::changes::Changes;
use super::draft::Draft;
use super::journal;
use super::place::Place;
use super::row::Knob;
use super::setting_error::SettingError;
use super::table::places;
use super::tree::Tree;

/// The values of knobs that act on the machine itself, by name.
pub type Values = BTreeMap<&'static str, (&'static Knob, String)>;

/// Return the changes for values, in the order of application; and a sentence for each of them that lasts.
pub fn resolve(tree: &Tree, values: &Values) -> Result<(Changes, Vec<String>), SettingError> {
    let (_, online) = tree.cpus();
    let reserved = values.values().find_map(|(knob, value)| knob.act.reserves(tree, value));
    // Otherwise the CPUs isolated since the boot are reserved: other work moves away from them.
    let reserved = reserved.unwrap_or_else(|| tree.isolated());
    let original = |place: &Place| {
        let found = journal::load(tree).ok().flatten()?;
        found.entries.into_iter().find(|entry| entry.place == *place).map(|entry| entry.original)
    };
    let mut draft = Draft {
        tree,
        online,
        reserved,
        changes: Changes::default(),
        lasting: Vec::new(),
        original: &original,
    };
    let mut ordered: Vec<&(&'static Knob, String)> = values.values().collect();
    ordered.sort_by_key(|(knob, _)| (knob.order, knob.name));
    for (knob, value) in ordered {
        // Knobs that the machine lacks are reported in the same words as in the list of knobs.
        let state = knob.state(tree);
        let done = state.and_then(|_| knob.act.resolve(&mut draft, knob, value));
        done.map_err(|reason| SettingError::Unsupported { name: knob.name, reason })?;
        let moved = places(tree, knob.moves).filter(|place| draft.is_there(place));
        let moved: Vec<Place> = moved.collect();
        draft.watch(moved);
    }
    Ok((draft.changes, draft.lasting))
}
