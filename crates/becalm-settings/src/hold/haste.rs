//! Expedited grace periods: groups are created and removed without waiting for the CPUs.
//!
//! The first task that moves between control groups after a while waits until every CPU has passed through the scheduler
//! (a grace period: `cgroup_threadgroup_rwsem`, kernel/rcu/sync.c), 7 to 27 ms. With `rcu_expedited` (kernel/ksysfs.c) the
//! CPUs are asked by an interrupt instead, and it takes 0.1 ms. That would disturb programs, so it is on while groups are
//! switched and never while something is measured.

use std::collections::{HashMap, HashSet};

use super::super::changes::Changes;
use super::super::controller::EXPEDITED;
use super::super::entry::Entry;
use super::super::failure::Failure;
use super::super::place::Place;
use super::Hold;

const ON: &str = "1";

fn expedited() -> Place {
    Place::File { path: EXPEDITED.to_owned() }
}

/// Return whether this is a group that comes and goes with settings.
fn is_group(place: &Place) -> bool {
    matches!(place, Place::Cpuset(_) | Place::Weighted(_))
}

impl Hold {
    /// Return whether a switch removes or creates groups; if so, let tasks move without waiting until `calm`.
    /// A kernel that cannot do that, or always does, is left as it is.
    pub fn hasten(&mut self, wanted: &Changes) -> bool {
        let held = self.entries.iter().filter(|entry| entry.left.is_some());
        let on: HashSet<&Place> = held.map(|entry| &entry.place).filter(|place| is_group(place)).collect();
        let coming = wanted.writes.iter().filter(|change| is_group(&change.place));
        let knobs: HashMap<&Place, &str> =
            coming.map(|change| (&change.place, change.knob.as_str())).collect();
        let stay = on.len() == knobs.len() && on.iter().all(|place| knobs.contains_key(place));
        // Everything is restored when other CPUs are to go offline (`restore_unwanted`).
        let anew = !on.is_empty() && self.gone != wanted.gone();
        if stay && !anew {
            return false;
        }
        let knob = knobs.into_values().next().unwrap_or("control groups");
        self.hasten_for(knob);
        true
    }

    fn hasten_for(&mut self, knob: &str) {
        if self.hasty {
            return;
        }
        let place = expedited();
        let Ok(now) = place.read(&self.tree) else { return };
        let known = self.numbers.get(&place).copied();
        if now == ON {
            if known.is_some_and(|number| !self.entries[number].ours.is_empty()) {
                // Somebody else has set it since it was restored. If that cannot be recorded, the next record
                // reports why.
                drop(self.disown_haste());
            }
            return;
        }
        // Nothing is changed that cannot be recorded.
        let noted = match known {
            Some(number) => self.announce(number, ON, None),
            None => {
                self.announced = true;
                self.add(Entry { ours: vec![ON.to_owned()], ..Entry::new(knob, place.clone(), now) }, None)
            }
        };
        self.hasty = noted.is_ok() && place.write(&self.tree, ON).is_ok();
    }

    /// Let the kernel wait again.
    pub fn calm(&mut self) {
        if !std::mem::take(&mut self.hasty) {
            return;
        }
        let place = expedited();
        if let Some(number) = self.numbers.get(&place) {
            // A failure is noticed and reported when everything is restored.
            drop(place.write(&self.tree, &self.entries[*number].original));
        }
    }

    /// Record in the journal that no value of it is ours: when grace periods are not expedited and settings
    /// stay on, or when somebody else has changed it.
    pub(super) fn disown_haste(&mut self) -> Result<(), Failure> {
        let Some(number) = self.numbers.get(&expedited()).copied() else { return Ok(()) };
        self.entries[number].ours.clear();
        let entry = self.entries[number].clone();
        self.journaled(|journal| journal.places([(number, &entry)]))
    }
}
