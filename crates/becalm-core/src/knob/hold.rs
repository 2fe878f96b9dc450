//! Holding settings: switching from one set to the next, noticing drift, and letting go.
//!
//! `Hold` is opened by the agent when settings first touch the machine and is the only writer of places. Every place is
//! in the journal, with its original value, before it is written; every write is read back. `switch` changes what
//! differs between two sets; `drift` finds what somebody else has changed; `release` puts everything back.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use super::journal::{self, Begin, Entry, Journal};
use super::lock::{Lock, LockError};
use super::place::Place;
use super::resolve::{Change, Changes};
use super::restore::{restore, unsettled, Fate, Restored};
use super::tree::Tree;

/// Rounds of writing and looking whether places have disturbed each other.
const ROUNDS: usize = 3;

/// Why settings are not held. In every case they have been taken off again, or the error says what differs.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error(
        "Another becalm is changing this machine: {0}. Wait until it is done; `becalm status` shows it."
    )]
    Busy(String),
    #[error("{title}, put on {minutes} min ago by {user}, is still on, and settings are not put on top of settings. Take it off first: becalm reset")]
    Kept { title: String, user: String, minutes: u64 },
    #[error("An earlier becalm was ended before it could put everything back, and this could not be put back now:\n{}\nLook at it, then: becalm reset", .0.join("\n"))]
    Unsettled(Vec<String>),
    #[error("The journal of old values cannot be written, so nothing was changed: {path}: {error}. Free some space or rights there.")]
    Journal { path: String, error: io::Error },
    #[error("{knob}: {place} does not take {value:?}: {error}. Everything was put back.")]
    Refused { knob: String, place: String, value: String, error: io::Error },
    #[error("{knob}: {place} was set to {value:?} but holds {found:?}: the kernel or a service does not accept it. Everything was put back.")]
    NotTaken { knob: String, place: String, value: String, found: String },
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A held place that somebody else changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    pub knob: String,
    pub place: String,
    pub wanted: String,
    pub found: String,
}

/// Settings on a machine, until they are released.
pub struct Hold {
    tree: Tree,
    lock: Lock,
    journal: Journal,
    entries: Vec<Entry>,
    /// What each entry's place held when it was last written, None while it has its original value.
    left: Vec<Option<String>>,
    latency: Option<File>,
}

/// What was found from an earlier becalm, and put back.
#[derive(Debug, Default)]
pub struct Recovered {
    pub places: Vec<Restored>,
    pub sentence: String,
}

impl Hold {
    /// Take the lock, put back what a killed becalm left, and begin a journal.
    pub fn open(tree: &Tree, begin: &Begin) -> Result<(Self, Option<Recovered>), HoldError> {
        let lock = Lock::take(tree, begin).map_err(|error| match error {
            LockError::Held(who) => HoldError::Busy(who),
            LockError::System(error) => HoldError::System(error),
        })?;
        let recovered = recover(tree, begin.at)?;
        let path = journal::path(tree).display().to_string();
        let journal = Journal::create(tree, begin).map_err(|error| HoldError::Journal { path, error })?;
        let hold =
            Self { tree: tree.clone(), lock, journal, entries: Vec::new(), left: Vec::new(), latency: None };
        Ok((hold, recovered))
    }

    /// The lock's descriptor, for the guard.
    pub fn lock(&self) -> i32 {
        self.lock.descriptor()
    }

    /// Make `wanted` what is held: take off what is not in it, then put on what is new, in the catalogue's order.
    ///
    /// Gives remarks on what was done. On an error everything has been put back.
    pub fn switch(&mut self, wanted: &Changes) -> Result<Vec<String>, HoldError> {
        match self.try_switch(wanted) {
            Ok(remarks) => Ok(remarks),
            Err(error) => {
                let outcomes = self.put_back_all();
                match unsettled(&outcomes) {
                    sentences if sentences.is_empty() => Err(error),
                    sentences => Err(HoldError::Unsettled(
                        std::iter::once(error.to_string()).chain(sentences).collect(),
                    )),
                }
            }
        }
    }

    fn try_switch(&mut self, wanted: &Changes) -> Result<Vec<String>, HoldError> {
        self.take_off(wanted)?;
        self.record(wanted)?;
        let mut remarks = Vec::new();
        for round in 0..ROUNDS {
            let mut settled = true;
            for change in &wanted.writes {
                settled &= self.put_on(change, round, &mut remarks)?;
            }
            if settled {
                break;
            }
        }
        Ok(remarks)
    }

    /// Give places that are not wanted any more their original values.
    fn take_off(&mut self, wanted: &Changes) -> Result<(), HoldError> {
        let unwanted = |place: &Place| !wanted.writes.iter().any(|change| change.place == *place);
        let held = |index: &usize| self.left[*index].is_some();
        let going: Vec<usize> = (0..self.entries.len()).filter(held).collect();
        let going: Vec<usize> =
            going.into_iter().filter(|index| unwanted(&self.entries[*index].place)).collect();
        if going.is_empty() {
            return Ok(());
        }
        if going.iter().any(|index| self.entries[*index].place == Place::Latency) {
            self.latency = None;
        }
        let side = |index: &usize| self.entries[*index].side_effect;
        let entries: Vec<Entry> = (0..self.entries.len())
            .filter(|index| going.contains(index) || side(index))
            .map(|index| self.entries[index].clone())
            .collect();
        let failed = unsettled(&restore(&self.tree, &entries, false));
        if !failed.is_empty() {
            return Err(HoldError::Unsettled(failed));
        }
        for index in going {
            self.left[index] = None;
        }
        Ok(())
    }

    /// Have all places that will be written, and those that change with them, in the journal.
    fn record(&mut self, wanted: &Changes) -> Result<(), HoldError> {
        let mut fresh: Vec<Entry> = Vec::new();
        let known = |entries: &[Entry], place: &Place| entries.iter().any(|entry| entry.place == *place);
        for change in &wanted.writes {
            if known(&self.entries, &change.place) || known(&fresh, &change.place) {
                continue;
            }
            let original = change.place.read(&self.tree).map_err(|error| refused(change, error))?;
            fresh.push(Entry {
                knob: change.knob.to_owned(),
                place: change.place.clone(),
                original,
                ours: vec![change.value.clone()],
                side_effect: false,
            });
        }
        for place in &wanted.watched {
            if known(&self.entries, place) || known(&fresh, place) {
                continue;
            }
            // What cannot be read cannot be put back; a task may just have ended.
            let Ok(original) = place.read(&self.tree) else { continue };
            let (knob, place) = ("side effect".to_owned(), place.clone());
            fresh.push(Entry { knob, place, original, ours: Vec::new(), side_effect: true });
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let path = journal::path(&self.tree).display().to_string();
        self.journal
            .places(self.entries.len(), &fresh)
            .map_err(|error| HoldError::Journal { path, error })?;
        self.left.resize(self.entries.len() + fresh.len(), None);
        self.entries.extend(fresh);
        Ok(())
    }

    /// Write one place if it does not hold its value; whether it did.
    fn put_on(
        &mut self,
        change: &Change,
        round: usize,
        remarks: &mut Vec<String>,
    ) -> Result<bool, HoldError> {
        let Some(index) = self.entries.iter().position(|entry| entry.place == change.place) else {
            return Ok(true);
        };
        let place = &change.place;
        let now = match place.read(&self.tree) {
            Ok(now) => now,
            Err(error) => return Err(refused(change, error)),
        };
        let known = self.left[index].as_ref().is_some_and(|left| place.agree(left, &now));
        let ours = place.agree(&now, &change.value);
        if ours || (known && self.means(index, change)) {
            self.left[index].get_or_insert(now);
            return Ok(true);
        }
        if !self.entries[index].ours.contains(&change.value) {
            self.entries[index].ours.push(change.value.clone());
            self.ours(index, &change.value)?;
        }
        if let Err(error) = self.write(place, &change.value) {
            if change.required {
                return Err(refused(change, error));
            }
            if round == 0 {
                remarks.push(format!("{}: {} stays as it is: {error}.", change.knob, place.shown()));
            }
            return Ok(true);
        }
        let found = place.read(&self.tree).map_err(|error| refused(change, error))?;
        let taken = place.agree(&found, &change.value);
        let original = &self.entries[index].original;
        // Clamped to what the hardware can: a number that differs from both.
        let clamped = found.parse::<i64>().is_ok() && !place.agree(&found, original);
        if !taken && !clamped && change.required {
            let (knob, place, value) = (change.knob.to_owned(), place.shown(), change.value.clone());
            return Err(HoldError::NotTaken { knob, place, value, found });
        }
        if !taken && clamped {
            remarks.push(format!("{}: {} took {found} for {}.", change.knob, place.shown(), change.value));
            self.entries[index].ours.push(found.clone());
            self.ours(index, &found)?;
        }
        if let Place::Cpuset(set) = place {
            remarks.extend(set.remark(&self.tree));
        }
        self.left[index] = Some(found);
        Ok(false)
    }

    /// Whether a clamped value that was left stands for this change.
    fn means(&self, index: usize, change: &Change) -> bool {
        self.entries[index].ours.last().is_some_and(|last| Some(last) == self.left[index].as_ref())
            && self.entries[index].ours.contains(&change.value)
    }

    fn ours(&mut self, index: usize, value: &str) -> Result<(), HoldError> {
        let path = journal::path(&self.tree).display().to_string();
        self.journal.ours(index, value).map_err(|error| HoldError::Journal { path, error })
    }

    fn write(&mut self, place: &Place, value: &str) -> io::Result<()> {
        if *place != Place::Latency {
            return place.write(&self.tree, value);
        }
        // The bound holds as long as the device is open, and ends with us.
        let number: i32 = value.parse().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        let mut device = OpenOptions::new().write(true).open(self.tree.path("/dev/cpu_dma_latency"))?;
        device.write_all(&number.to_ne_bytes())?;
        self.latency = Some(device);
        Ok(())
    }

    /// Held places that do not hold what was left there.
    pub fn drift(&self) -> Vec<Drift> {
        let mut found = Vec::new();
        for (entry, left) in self.entries.iter().zip(&self.left) {
            let Some(wanted) = left else { continue };
            let now = entry.place.read(&self.tree).unwrap_or_default();
            if !entry.place.agree(&now, wanted) {
                found.push(Drift {
                    knob: entry.knob.clone(),
                    place: entry.place.shown(),
                    wanted: wanted.clone(),
                    found: now,
                });
            }
        }
        found
    }

    /// Put everything back. The journal goes when all is settled; else it stays for `becalm reset`.
    ///
    /// Gives the lock too: whoever else has a copy should let go of it first.
    pub fn release(mut self) -> (Vec<Restored>, Lock) {
        let outcomes = self.put_back_all();
        if unsettled(&outcomes).is_empty() {
            drop(journal::remove(&self.tree));
        }
        (outcomes, self.lock)
    }

    /// Leave the settings on: the journal says so, and a keeper holds what only an open file holds.
    pub fn keep(
        mut self,
        settings: &Map<String, Value>,
        keeper: impl FnOnce(File) -> io::Result<Place>,
    ) -> Result<Lock, HoldError> {
        if let Some(device) = self.latency.take() {
            let place = keeper(device)?;
            let entry = Entry {
                knob: "cpu_dma_latency".to_owned(),
                place,
                original: super::place::GONE.to_owned(),
                ours: vec![super::place::RUNNING.to_owned()],
                side_effect: false,
            };
            self.journal.places(self.entries.len(), &[entry])?;
        }
        self.journal.keep(settings)?;
        Ok(self.lock)
    }

    fn put_back_all(&mut self) -> Vec<Restored> {
        self.latency = None;
        let outcomes = restore(&self.tree, &self.entries, false);
        self.left.fill(None);
        outcomes
    }
}

/// Put back what an earlier becalm left on this machine; the lock is held. None when there was nothing.
pub fn recover(tree: &Tree, now: u64) -> Result<Option<Recovered>, HoldError> {
    let Some(found) = journal::load(tree)? else { return Ok(None) };
    if let (Some(_), true) = (&found.kept, found.begin.boot == journal::boot_id(tree)) {
        let minutes = now.saturating_sub(found.begin.at) / 60;
        let title = if found.begin.title.is_empty() { "A profile".to_owned() } else { found.begin.title };
        return Err(HoldError::Kept { title, user: found.begin.user, minutes });
    }
    let recovered = clear(tree, now, false)?;
    let open = unsettled(&recovered.places);
    if open.is_empty() {
        return Ok(Some(recovered));
    }
    Err(HoldError::Unsettled(open))
}

/// Put back everything the journal says, whoever wrote it; the lock is held. `force`: also what somebody else changed.
///
/// The journal stays as long as something could not be put back; what somebody else changed is theirs, and only
/// reported.
pub fn clear(tree: &Tree, now: u64, force: bool) -> Result<Recovered, HoldError> {
    let Some(found) = journal::load(tree)? else { return Ok(Recovered::default()) };
    let who = if found.begin.title.is_empty() { "becalm".to_owned() } else { found.begin.title.clone() };
    if found.begin.boot != journal::boot_id(tree) && found.damaged.is_empty() {
        journal::remove(tree)?;
        let sentence =
            format!("The machine was restarted since {who} changed it, which took its settings off.");
        return Ok(Recovered { places: Vec::new(), sentence });
    }
    let places = restore(tree, &found.entries, force);
    if !found.damaged.is_empty() {
        let aside = journal::put_aside(tree, now)?;
        let lines: Vec<String> = found.damaged.iter().map(ToString::to_string).collect();
        let sentence = format!(
            "The journal of {who} was damaged in line {}; what could be read of it was put back. It is now {}.",
            lines.join(", "),
            aside.display()
        );
        return Err(HoldError::Unsettled(std::iter::once(sentence).chain(unsettled(&places)).collect()));
    }
    if places.iter().all(|place| place.fate != Fate::Failed) {
        journal::remove(tree)?;
    }
    let count = places.iter().filter(|place| place.fate == Fate::Restored).count();
    Ok(Recovered {
        sentence: format!("What {who} had left on was put back: {count} of {} places.", places.len()),
        places,
    })
}

fn refused(change: &Change, error: io::Error) -> HoldError {
    HoldError::Refused {
        knob: change.knob.to_owned(),
        place: change.place.shown(),
        value: change.value.clone(),
        error,
    }
}
