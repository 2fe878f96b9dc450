//! The record in the journal of what every place held, before the first write.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io;

use super::super::away::{self, Away};
use super::super::bound::{bound_tasks, members};
use super::super::changes::{Change, Changes};
use super::super::cpuset::ABSENT;
use super::super::entry::Entry;
use super::super::failure::Failure;
use super::super::interrupt;
use super::super::place::Place;
use super::super::threads::ticks;
use super::super::tree::Tree;
use super::super::widened;
use super::{refused, Hold};

impl Hold {
    /// Record in the journal all places that will be written, and those that change with them.
    pub(super) fn record(&mut self, wanted: &Changes) -> Result<(), Failure> {
        let mut tasks = Vec::new();
        if self.gone != wanted.gone() {
            tasks = members(&self.tree, &wanted.offline);
            tasks.extend(bound_tasks(&self.tree, &wanted.taken));
        }
        let watched = || wanted.watched.iter().chain(&tasks);
        let known = Known::of(&self.tree, |place| !self.numbers.contains_key(place), wanted);
        let mut fresh = Fresh { next: self.entries.len(), entries: Vec::new(), places: HashSet::new() };
        for change in &wanted.writes {
            self.written(change, &known, &mut fresh)?;
        }
        for place in watched() {
            self.side_effect(place, &known, &mut fresh);
        }
        let fresh = fresh.entries;
        if !fresh.is_empty() {
            self.journaled(|journal| journal.places(fresh.iter().map(|(number, entry)| (*number, entry))))?;
            self.announced = true;
        }
        for (number, entry) in fresh {
            self.numbers.insert(entry.place.clone(), number);
            match self.entries.get_mut(number) {
                Some(known) => *known = Entry { left: known.left.take(), watched: known.watched, ..entry },
                None => self.entries.push(entry),
            }
        }
        for place in watched() {
            if let Some(number) = self.numbers.get(place) {
                self.entries[*number].watched = true;
            }
        }
        self.gone = wanted.gone();
        // The values of the interrupts on their way back are in the journal now.
        let irqs: HashSet<u32> = wanted.places().filter_map(Place::irq).collect();
        match irqs.is_empty() {
            true => Ok(()),
            false => Ok(away::taken_over(&self.tree, |irq| irqs.contains(&irq))?),
        }
    }

    /// Add a place that will be written, unless it is recorded as such.
    fn written(&self, change: &Change, known: &Known, fresh: &mut Fresh) -> Result<(), Failure> {
        let place = &change.place;
        let entry = self.numbers.get(place).map(|number| (*number, &self.entries[*number]));
        if fresh.has(place) || entry.is_some_and(|(_, entry)| !entry.side_effect) {
            return Ok(());
        }
        let original = match (entry, place) {
            (Some((_, entry)), _) => entry.original.clone(),
            // A group that exists was left by a becalm whose journal is lost.
            (None, Place::Cpuset(_) | Place::Weighted(_)) => ABSENT.to_owned(),
            (None, _) => match known.original(place) {
                Ok(original) => original,
                Err(error) if change.required => return Err(refused(change, &error)),
                Err(_) => return Ok(()),
            },
        };
        let ours = vec![change.value.clone()];
        // The time before the process is bound: what it forks from now on may have inherited its CPUs.
        let (since, newest) = match place {
            Place::Threads { .. } => (ticks(&self.tree), widened::newest(&self.tree)),
            _ => (0, 0),
        };
        let known = Entry::new(&change.knob, place.clone(), original);
        let new = Entry { ours, since, newest, doubtful: true, ..known };
        fresh.add(entry.map(|(number, _)| number), new);
        Ok(())
    }

    /// Add a place that changes with others, unless it is recorded as such.
    fn side_effect(&self, place: &Place, known: &Known, fresh: &mut Fresh) {
        if fresh.has(place) {
            return;
        }
        let entry = self.numbers.get(place).map(|number| (*number, &self.entries[*number]));
        let original = match entry {
            // A task may have been given other CPUs while nothing of ours prevented that.
            Some((number, entry)) if place.rank() > 0 && !self.entries[number].watched => {
                place.read(&self.tree).ok().filter(|now| !place.agree(now, &entry.original))
            }
            Some((_, entry)) if entry.side_effect => None,
            // We gave it values before; what it gets now comes from the kernel, and would be taken for
            // somebody else's.
            Some((_, entry)) => Some(entry.original.clone()),
            // What cannot be read cannot be restored; a task may just have ended.
            None => known.original(place).ok(),
        };
        let Some(original) = original else { return };
        let known = Entry::new("side effect", place.clone(), original);
        let new = Entry { side_effect: true, doubtful: true, ..known };
        fresh.add(entry.map(|(number, _)| number), new);
    }
}

/// Entries to be journaled, by number.
struct Fresh {
    next: usize,
    entries: Vec<(usize, Entry)>,
    places: HashSet<Place>,
}

impl Fresh {
    fn has(&self, place: &Place) -> bool {
        self.places.contains(place)
    }

    /// Add an entry, in the place of a known one or as a new one.
    fn add(&mut self, known: Option<usize>, entry: Entry) {
        let number = known.unwrap_or(self.next);
        self.next = self.next.max(number + 1);
        self.places.insert(entry.place.clone());
        self.entries.push((number, entry));
    }
}

/// Values that places held before becalm; those of interrupts on their way back come from their list.
struct Known<'a> {
    tree: &'a Tree,
    away: OnceCell<HashMap<u32, Away>>,
    masks: HashMap<u32, String>,
}

impl<'a> Known<'a> {
    /// Read the masks of all new interrupts together. `new` returns whether a place is not recorded yet.
    fn of(tree: &'a Tree, new: impl Fn(&Place) -> bool, wanted: &Changes) -> Self {
        let mut known = Self { tree, away: OnceCell::new(), masks: HashMap::new() };
        let masks = wanted.places().filter(|place| matches!(place, Place::Mask { .. }) && new(place));
        let mut irqs: Vec<u32> = masks.filter_map(Place::irq).collect();
        irqs.retain(|irq| known.away(*irq).is_none());
        irqs.sort_unstable();
        irqs.dedup();
        known.masks = interrupt::masks(tree, &irqs);
        known
    }

    /// Return the entry of an interrupt on its way back. Reading the list takes as long as ten settings.
    fn away(&self, irq: u32) -> Option<&Away> {
        self.away.get_or_init(|| away::listed(self.tree)).get(&irq)
    }

    fn original(&self, place: &Place) -> io::Result<String> {
        let Some(irq) = place.irq() else { return place.read(self.tree) };
        match (place, self.away(irq)) {
            (Place::Arrival { .. }, Some(away)) => Ok(away.was.clone()),
            (Place::Mask { .. }, Some(away)) => Ok(away.mask.clone()),
            (Place::Mask { .. }, None) if self.masks.contains_key(&irq) => Ok(self.masks[&irq].clone()),
            _ => place.read(self.tree),
        }
    }
}
