//! Before the first write: what every place held, in the journal.

use std::collections::{HashMap, HashSet};
use std::io;

use super::super::affected::{bound_tasks, members};
use super::super::away::{self, Away};
use super::super::changes::Changes;
use super::super::cpuset::ABSENT;
use super::super::hold_error::HoldError;
use super::super::journal::Entry;
use super::super::place::Place;
use super::super::tree::Tree;
use super::Hold;

impl Hold {
    /// Have all places that will be written, and those that change with them, in the journal.
    pub(super) fn record(&mut self, wanted: &Changes) -> Result<(), HoldError> {
        let mut fresh: Vec<(usize, Entry)> = Vec::new();
        let mut next = self.entries.len();
        let mut numbers: HashMap<&Place, usize> = HashMap::new();
        let known = Known { tree: &self.tree, away: away::listed(&self.tree) };
        for change in &wanted.writes {
            let place = &change.place;
            let entry = self.numbers.get(place).map(|number| (*number, &self.entries[*number]));
            if numbers.contains_key(place) || entry.is_some_and(|(_, entry)| !entry.side_effect) {
                continue;
            }
            let original = match (entry, place) {
                (Some((_, entry)), _) => entry.original.clone(),
                // One that is there was left by somebody whose journal is lost.
                (None, Place::Cpuset(_)) => ABSENT.to_owned(),
                (None, _) => match known.original(place) {
                    Ok(original) => original,
                    Err(error) if change.required => return Err(HoldError::refused(change, error)),
                    Err(_) => continue,
                },
            };
            let number = entry.map_or(next, |(number, _)| number);
            next = next.max(number + 1);
            numbers.insert(place, number);
            let (knob, ours) = (change.knob.to_owned(), vec![change.value.clone()]);
            let entry =
                Entry { knob, place: place.clone(), original, ours, side_effect: false, doubtful: true };
            fresh.push((number, entry));
        }
        let mut tasks = Vec::new();
        if self.taken != wanted.taken || self.offline != wanted.offline {
            tasks = members(&self.tree, &wanted.offline);
            tasks.extend(bound_tasks(&self.tree, &wanted.taken));
        }
        for place in wanted.watched.iter().chain(&tasks) {
            if numbers.contains_key(place) {
                continue;
            }
            let entry = self.numbers.get(place).map(|number| (*number, &self.entries[*number]));
            let original = match entry {
                // A task may have been given other CPUs while nothing of ours kept it from them.
                Some((number, entry)) if entry.place.rank() > 0 && !self.watched[number] => {
                    match place.read(&self.tree) {
                        Ok(now) if !place.agree(&now, &entry.original) => now,
                        _ => continue,
                    }
                }
                Some((_, entry)) if entry.side_effect => continue,
                // We gave it values before; what it gets now comes from the kernel, and would pass for somebody else's.
                Some((_, entry)) => entry.original.clone(),
                // What cannot be read cannot be put back; a task may just have ended.
                None => match known.original(place) {
                    Ok(original) => original,
                    Err(_) => continue,
                },
            };
            let number = entry.map_or(next, |(number, _)| number);
            next = next.max(number + 1);
            let (knob, place) = ("side effect".to_owned(), place.clone());
            let entry = Entry { knob, place, original, ours: Vec::new(), side_effect: true, doubtful: true };
            fresh.push((number, entry));
        }
        if !fresh.is_empty() {
            self.journaled(|journal| journal.places(fresh.iter().map(|(number, entry)| (*number, entry))))?;
            self.announced = true;
        }
        for (number, entry) in fresh {
            self.numbers.insert(entry.place.clone(), number);
            match self.entries.get_mut(number) {
                Some(known) => *known = entry,
                None => self.entries.push(entry),
            }
        }
        self.left.resize_with(self.entries.len(), || None);
        self.watched.resize(self.entries.len(), false);
        for place in wanted.watched.iter().chain(&tasks) {
            if let Some(number) = self.numbers.get(place) {
                self.watched[*number] = true;
            }
        }
        self.taken.clone_from(&wanted.taken);
        self.offline.clone_from(&wanted.offline);
        // Theirs is in the journal now.
        let irqs: HashSet<u32> = wanted.places().filter_map(Place::irq).collect();
        Ok(away::taken_over(&self.tree, |irq| irqs.contains(&irq))?)
    }
}

/// What places held before becalm: the list of interrupts that are on their way back knows it of those.
struct Known<'a> {
    tree: &'a Tree,
    away: HashMap<u32, Away>,
}

impl Known<'_> {
    fn original(&self, place: &Place) -> io::Result<String> {
        match (place, place.irq().and_then(|irq| self.away.get(&irq))) {
            (Place::Arrival { .. }, Some(away)) => Ok(away.was.clone()),
            (Place::Mask { .. }, Some(away)) => Ok(away.mask.clone()),
            _ => place.read(self.tree),
        }
    }
}
