//! Changes in preparation, to which each kind of knob adds its own.

use super::affected::affected;
use super::changes::{Change, Changes};
use super::cpus::Cpus;
use super::interrupt_words::lost;
use super::place::Place;
use super::tree::{Tree, CPU};

/// Changes in preparation.
pub struct Draft<'a> {
    pub tree: &'a Tree,
    /// The CPUs that will be online when the present knob is set.
    pub online: Cpus,
    /// The CPUs that are reserved for the program, by these settings or since the boot.
    pub reserved: Cpus,
    pub changes: Changes,
    /// Sentences on what will not be as before after a restore, reported before the changes are applied.
    pub lasting: Vec<String>,
    /// Return the value that a place held before becalm changed it, if it has.
    pub original: &'a dyn Fn(&Place) -> Option<String>,
}

impl Draft<'_> {
    /// Add a write that must succeed.
    pub fn push(&mut self, knob: &'static str, place: Place, value: &str) {
        self.changes.writes.push(Change {
            knob: knob.to_owned(),
            place,
            value: value.to_owned(),
            required: true,
        });
    }

    /// Add a write of a file that must succeed.
    pub fn file(&mut self, knob: &'static str, path: &str, value: String) {
        self.push(knob, Place::File { path: path.to_owned() }, &value);
    }

    /// Let the groups of version 2 have a controller, unless they have it already.
    pub fn controller(&mut self, knob: &'static str, name: &str) {
        let place = Place::Controller { name: name.to_owned() };
        if place.read(self.tree).map_or(true, |held| held != "on") {
            self.push(knob, place, "on");
        }
    }

    /// Add places that change as a side effect.
    pub fn watch(&mut self, places: impl IntoIterator<Item = Place>) {
        for place in places {
            if !self.changes.watched.contains(&place) {
                self.changes.watched.push(place);
            }
        }
    }

    /// Take CPUs offline.
    pub fn take(&mut self, knob: &'static str, gone: &Cpus) {
        self.watch(affected(self.tree, gone));
        self.lasting.extend(lost(self.tree, knob, gone));
        self.changes.taken.extend(gone);
        self.changes.offline.extend(gone);
    }

    /// Return whether a place will exist: it must not belong to a CPU that goes offline.
    pub fn is_there(&self, place: &Place) -> bool {
        let (Place::File { path } | Place::Mask { path }) = place else { return true };
        let of_cpu = path
            .strip_prefix(CPU)
            .and_then(|rest| rest.strip_prefix("/cpu")?.split_once('/')?.0.parse().ok());
        of_cpu.is_none_or(|cpu: u32| self.online.contains(&cpu))
    }

    /// Return this file of every CPU that will be online and has it.
    pub fn each_online(&self, file: &str) -> Vec<String> {
        let online = |cpu: &u32| self.online.contains(cpu);
        let paths = self.tree.numbered(CPU, "cpu").into_iter().filter(online);
        paths.map(|cpu| format!("{CPU}/cpu{cpu}/{file}")).filter(|path| self.tree.exists(path)).collect()
    }
}
