//! Settings on a machine: switching from one set to the next, noticing drift, and restoring.
//!
//! `Hold` is opened by the agent when settings first touch the machine and is the only writer of places. Every place is
//! in the journal, with its original value, before it is written; every write is read back. `switch` changes what
//! differs between two sets; `drift` finds what somebody else has changed; `release` restores everything.

mod haste;
mod record;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use super::changes::{Change, Changes};
use super::cpus::Cpus;
use super::entry::{Entry, Left};
use super::failure::Failure;
use super::fallen::sets;
use super::interrupt::mask_file;
use super::journal::{self, Begin, Journal};
use super::lock::Lock;
use super::member::wait_for_emptied;
use super::place::{Place, LATENCY};
use super::recover::{close, of_settings, recover, Recovered};
use super::restore::{restore, unsettled, Fate, Restored};
use super::table::asks_for_default;
use super::task::{GONE, RUNNING};
use super::tree::Tree;

/// Rounds of writing and of checking whether places have disturbed each other.
const ROUNDS: usize = 3;

/// A held place with another value than it was given: one that somebody else set, or one that the kernel made
/// of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
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
    /// The number of each place in `entries`.
    numbers: HashMap<Place, usize>,
    /// CPUs that tasks have lost, and those of them that are offline.
    gone: (Cpus, Cpus),
    /// Changes by others that were noticed and not reported yet.
    drifted: Vec<Difference>,
    clamped: Vec<Difference>,
    /// Whether values were announced that are not read back yet.
    announced: bool,
    /// Whether grace periods are expedited now.
    hasty: bool,
    latency: Option<File>,
}

impl Hold {
    /// Take the lock, restore what a killed becalm left, and begin a journal.
    pub fn open(tree: &Tree, begin: &Begin) -> Result<(Self, Option<Recovered>), Failure> {
        let lock = Lock::take(tree, begin)?;
        let recovered = recover(tree, begin.at)?;
        let journal = noted(tree, Journal::create(tree, begin))?;
        let hold = Self {
            tree: tree.clone(),
            lock,
            journal,
            entries: Vec::new(),
            numbers: HashMap::new(),
            gone: Default::default(),
            drifted: Vec::new(),
            clamped: Vec::new(),
            announced: false,
            hasty: false,
            latency: None,
        };
        Ok((hold, recovered))
    }

    /// Return the lock's descriptor, for the guard.
    pub fn lock(&self) -> i32 {
        self.lock.descriptor()
    }

    /// Make `wanted` the held settings: restore those that are not in it, then apply the new ones, in the
    /// order of the catalogue.
    ///
    /// Return remarks. On an error everything has been restored.
    pub fn switch(&mut self, wanted: &Changes) -> Result<Vec<String>, Failure> {
        self.try_switch(wanted).map_err(|error| {
            let outcomes = self.restore_all(false);
            let failed = failures(&outcomes);
            if failed.is_empty() {
                return error;
            }
            Failure::stuck(&std::iter::once(error.message).chain(failed).collect::<Vec<_>>())
        })
    }

    fn try_switch(&mut self, wanted: &Changes) -> Result<Vec<String>, Failure> {
        // Before our own writes change other places.
        let moved = self.moved();
        self.drifted.extend(moved);
        self.restore_unwanted(wanted)?;
        self.record(wanted)?;
        let mut remarks = Vec::new();
        let mut restless = None;
        for round in 0..ROUNDS {
            restless = None;
            for change in &wanted.writes {
                if self.apply_change(change, round, &mut remarks)? {
                    restless = Some(change);
                }
            }
            if restless.is_none() {
                break;
            }
        }
        if let Some(change) = restless {
            return Err(change.refused(&format!(
                "does not stay {:?}: other settings or a service change it again and again",
                change.value
            )));
        }
        wait_for_emptied(&self.tree, sets(&self.entries));
        if std::mem::take(&mut self.announced) {
            self.journaled(|journal| journal.settled())?;
        }
        Ok(remarks)
    }

    /// Restore the places that are not wanted any more, and those that changed with them.
    fn restore_unwanted(&mut self, wanted: &Changes) -> Result<(), Failure> {
        if !self.gone.0.is_empty() && self.gone != wanted.gone() {
            // Tasks, sets and interrupts show what the kernel made of their values: the earlier ones can be
            // read and recorded only when all CPUs are back.
            return self.restore_where(|_| true);
        }
        let mut stays = vec![false; self.entries.len()];
        for number in wanted.writes.iter().filter_map(|change| self.numbers.get(&change.place)) {
            stays[*number] = true;
        }
        let mut disturbed: Vec<usize> =
            wanted.watched.iter().filter_map(|place| self.numbers.get(place).copied()).collect();
        disturbed.retain(|number| {
            !std::mem::replace(&mut stays[*number], true) && self.entries[*number].left.is_some()
        });
        for (stays, entry) in stays.iter_mut().zip(&self.entries) {
            *stays |= entry.place.rank() > 0;
        }
        self.restore_where(|number| !stays[number])?;
        for number in disturbed {
            // A place with a value of ours gets its original before the kernel changes it next, since the
            // kernel starts from its present value. The write may fail while CPUs are offline, which does no
            // harm: the place is restored with its cause.
            let Entry { place, original, .. } = &self.entries[number];
            drop(place.write(&self.tree, original));
            self.entries[number].left = None;
        }
        Ok(())
    }

    /// Restore the applied places whose numbers fulfil a condition.
    fn restore_where(&mut self, condition: impl Fn(usize) -> bool) -> Result<(), Failure> {
        let on = |number: &usize| self.entries[*number].left.is_some() || self.entries[*number].watched;
        let mut going: Vec<usize> =
            (0..self.entries.len()).filter(|number| on(number) && condition(*number)).collect();
        if going.is_empty() {
            return Ok(());
        }
        // If an interrupt accepted no mask of ours, its old mask is known; reading it would wait.
        let arriving = |number: &usize| match &self.entries[*number].place {
            Place::Arrival { irq, .. } => self.numbers.get(&Place::Mask { path: mask_file(*irq) }),
            _ => None,
        };
        let masks = going.iter().filter_map(arriving).filter(|number| self.entries[**number].left.is_none());
        going.extend(masks.copied().collect::<Vec<_>>());
        going.sort_unstable();
        going.dedup();
        let entries: Vec<Entry> = going.iter().map(|number| self.entries[*number].clone()).collect();
        if entries.iter().any(|entry| entry.place == Place::Latency) {
            self.latency = None;
        }
        let failed = failures(&restore(&self.tree, &entries, false));
        if !failed.is_empty() {
            return Err(Failure::stuck(&failed));
        }
        for number in going {
            self.entries[number].left = None;
            self.entries[number].watched = false;
        }
        Ok(())
    }

    /// Write one place if it does not hold its value; return whether that was necessary.
    fn apply_change(
        &mut self,
        change: &Change,
        round: usize,
        remarks: &mut Vec<String>,
    ) -> Result<bool, Failure> {
        let Change { place, value, .. } = change;
        let Some(number) = self.numbers.get(place).copied() else { return Ok(false) };
        let now = match place.read(&self.tree) {
            Ok(now) => now,
            Err(error) if change.required => return Err(refused(change, &error)),
            Err(_) => return Ok(false),
        };
        let left = self.entries[number].left.as_ref().filter(|left| left.asked == *value);
        // A value that ends with its holder must be ours, even when somebody else has set the same.
        let must_be_ours = matches!(place, Place::Latency | Place::Cpuset(_) | Place::Weighted(_));
        if left.is_some_and(|left| place.agree(&left.found, &now)) {
            return Ok(false);
        }
        let first = left.is_none();
        if place.agree(&now, value) && !(must_be_ours && first) {
            if !place.agree(&now, &self.entries[number].original) {
                // An interrupt that was on its way back has a mask of ours.
                self.announce(number, value, None)?;
            }
            if first && place.irq().is_some() {
                // The kernel may be about to change it (`interrupt`). A mask that may not be set does not
                // change.
                drop(place.write(&self.tree, value));
            }
            self.entries[number].left = Some(Left { asked: value.clone(), found: now });
            return Ok(false);
        }
        self.announce(number, value, None)?;
        self.entries[number].doubtful = true;
        if let Err(error) = self.write(place, value) {
            if change.required {
                return Err(refused(change, &error));
            }
            if round == 0 {
                remarks.push(format!("{}: {} stays as it is: {error}.", change.knob, place.shown()));
            }
            return Ok(false);
        }
        let mut found = place.read(&self.tree).map_err(|error| refused(change, &error))?;
        if !place.agree(&found, value) {
            found = place.read_again(&self.tree).unwrap_or(found);
        }
        if !place.agree(&found, value) {
            let original = &self.entries[number].original;
            // Limited to what the hardware supports, or by a tighter bound that somebody else has set.
            let number_of = |text: &str| text.parse::<i64>().ok();
            let tighter = *place == Place::Latency && number_of(&found) < number_of(value);
            let counts = number_of(&found).is_some();
            let clamped = counts && (!place.agree(&found, original) || asks_for_default(&change.knob, value));
            if change.required && !clamped && !tighter {
                return Err(change.refused(&format!(
                    "was set to {value:?} but holds {found:?}: the kernel or a service does not accept it"
                )));
            }
            let clamped = difference(&change.knob, place, value, &found);
            remarks.push(format!("{}: {} took {found} for {value}.", clamped.knob, clamped.place));
            self.announce(number, &found, Some(value))?;
            if !self.clamped.contains(&clamped) {
                self.clamped.push(clamped);
            }
        }
        self.entries[number].doubtful = false;
        self.entries[number].left = Some(Left { asked: value.clone(), found });
        Ok(true)
    }

    /// Record a value of ours in the journal, once; `asked` is the value that the kernel made it of.
    fn announce(&mut self, number: usize, value: &str, asked: Option<&str>) -> Result<(), Failure> {
        let entry = &self.entries[number];
        let known = entry.made_of.get(value).map(String::as_str);
        if entry.ours.iter().any(|ours| ours == value) && known == asked {
            return Ok(());
        }
        self.journaled(|journal| journal.ours(number, value, asked))?;
        self.entries[number].record_ours(value.to_owned(), asked.map(str::to_owned));
        self.announced = true;
        Ok(())
    }

    /// Record one more place in the journal, and what it was left with.
    fn add(&mut self, entry: Entry, left: Option<Left>) -> Result<(), Failure> {
        let number = self.entries.len();
        self.journaled(|journal| journal.places([(number, &entry)]))?;
        self.numbers.insert(entry.place.clone(), number);
        self.entries.push(Entry { left, ..entry });
        Ok(())
    }

    fn journaled(&mut self, write: impl FnOnce(&mut Journal) -> io::Result<()>) -> Result<(), Failure> {
        noted(&self.tree, write(&mut self.journal))
    }

    fn write(&mut self, place: &Place, value: &str) -> io::Result<()> {
        if *place != Place::Latency || !self.tree.live {
            return place.write(&self.tree, value);
        }
        // The bound holds while the device is open, and ends with this process.
        let number: i32 = value.parse().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        let mut device = self.tree.open(LATENCY, libc::O_WRONLY, 0)?;
        device.write_all(&number.to_ne_bytes())?;
        self.latency = Some(device);
        Ok(())
    }

    /// Return the held places that somebody else has changed since the last call, whether they were set again
    /// or not.
    pub fn drift(&mut self) -> Vec<Difference> {
        let mut found = std::mem::take(&mut self.drifted);
        found.extend(self.moved());
        found
    }

    /// Return the values that places made of others since the last call.
    pub fn clamped(&mut self) -> Vec<Difference> {
        std::mem::take(&mut self.clamped)
    }

    /// Return the held places that do not hold what was left there.
    fn moved(&self) -> Vec<Difference> {
        let mut found = Vec::new();
        for entry in &self.entries {
            let Some(left) = &entry.left else { continue };
            let mut now = entry.place.read(&self.tree).unwrap_or_default();
            if !entry.place.agree(&now, &left.found) {
                now = entry.place.read_again(&self.tree).unwrap_or(now);
            }
            if !entry.place.agree(&now, &left.found) {
                found.push(difference(&entry.knob, &entry.place, &left.found, &now));
            }
        }
        found
    }

    /// Restore everything. The journal is removed when all places are settled; else it stays for `becalm
    /// reset`.
    ///
    /// `force`: also restore what somebody else changed. The lock is returned too: whoever has a copy should
    /// close that first.
    pub fn release(mut self, force: bool) -> (Vec<Restored>, Lock) {
        let _ = self.hasten(&Changes::default());
        let outcomes = self.restore_all(force);
        if let Ok(Some(found)) = journal::load(&self.tree) {
            // A journal that lists too much does no harm: the next becalm finds everything restored.
            drop(close(&self.tree, &found, &outcomes));
        }
        (of_settings(&self.entries, outcomes), self.lock)
    }

    /// Leave the settings on: the journal records that, and a keeper holds what only an open file can hold.
    ///
    /// `keeper` returns its place and a line: it ends by itself unless it is told through the line to stay.
    pub fn keep(
        &mut self,
        settings: &Map<String, Value>,
        keeper: impl FnOnce(&File) -> io::Result<(Place, File)>,
    ) -> Result<(), Failure> {
        if let Some(device) = &self.latency {
            let (place, mut line) = keeper(device)?;
            let ours = vec![RUNNING.to_owned()];
            let entry = Entry { ours, ..Entry::new("cpu_dma_latency", place, GONE.to_owned()) };
            self.add(entry, Some(Left { asked: RUNNING.to_owned(), found: RUNNING.to_owned() }))?;
            line.write_all(b"stay")?;
        }
        self.calm();
        self.disown_haste()?;
        self.journaled(|journal| journal.keep(settings))
    }

    fn restore_all(&mut self, force: bool) -> Vec<Restored> {
        self.latency = None;
        let outcomes = restore(&self.tree, &self.entries, force);
        self.entries.iter_mut().for_each(|entry| (entry.left, entry.watched) = (None, false));
        self.gone = Default::default();
        outcomes
    }
}

fn difference(knob: &str, place: &Place, wanted: &str, found: &str) -> Difference {
    let [knob, wanted, found] = [knob, wanted, found].map(str::to_owned);
    Difference { knob, place: place.shown(), wanted, found }
}

/// Name the journal in the failure to write it.
fn noted<T>(tree: &Tree, done: io::Result<T>) -> Result<T, Failure> {
    done.map_err(|error| Failure::journal(&journal::path(tree).display().to_string(), &error))
}

/// Return the failure to read or write a place.
fn refused(change: &Change, error: &io::Error) -> Failure {
    change.refused(&format!("does not take {:?}: {error}", change.value))
}

fn failures(outcomes: &[Restored]) -> Vec<String> {
    let failed = outcomes.iter().filter(|outcome| outcome.fate == Fate::Failed);
    unsettled(&failed.cloned().collect::<Vec<_>>())
}
