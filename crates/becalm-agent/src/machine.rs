//! The machine as this conversation changes it: settings put on, drift noticed, everything put back at the end.
//!
//! `session` asks for what a request wants. Nothing is opened before the first setting that touches the machine; from
//! then on there is a hold (lock, journal) and a guard. `told` says what can be set and what is set, changing nothing.

mod seat;
mod told;

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use becalm_core::exec::user::lookup;
use becalm_core::knob::away;
use becalm_core::knob::changes::Changes;
use becalm_core::knob::hold::{Clamped, Drift, Hold};
use becalm_core::knob::hold_error::HoldError;
use becalm_core::knob::journal::{self, Begin, Recorded};
use becalm_core::knob::lock::{Lock, LockError};
use becalm_core::knob::place::Place;
use becalm_core::knob::recover::{clear, Recovered};
use becalm_core::knob::restore::{unsettled, Restored};
use becalm_core::knob::tree::Tree;
use becalm_core::time::AnyClock;
use serde_json::{json, Map, Value};

use crate::groups::Groups;
use crate::guard::{keeper, wait_for_interrupts, Guard};
use crate::protocol::Failure;
use seat::Seat;

/// How long the person waits for interrupts to be back: those of a busy device are.
const AT_ONCE: Duration = Duration::from_millis(100);

/// A machine and what is set on it.
pub struct Machine {
    pub tree: Tree,
    /// Who asks, by name; None: this process's own user.
    user: Option<String>,
    pub title: String,
    /// The person's name for it, apart from others of the same user.
    pub name: String,
    /// The person consents to restarts of the machine.
    pub reboot: bool,
    /// How long interrupts may take to be back where they were.
    patience: Duration,
    clock: AnyClock,
    hold: Option<(Hold, Guard)>,
    on: Changes,
    /// It is on after the block that needed it, while the next one is made known.
    lingers: bool,
    /// The task file of the group that programs join, by name and open.
    join: Option<(String, File)>,
    /// The process that starts programs, while all that it starts belongs in that group; and it there.
    starter: Option<libc::pid_t>,
    seat: Option<Seat>,
    /// What a person should know about the settings that were put on.
    pub remarks: Vec<String>,
}

impl Machine {
    /// The machine below a root; `user`: who asks, if not this process's own.
    pub fn new(tree: Tree, user: Option<String>, patience: Duration, clock: AnyClock) -> Self {
        Self {
            tree,
            user,
            patience,
            clock,
            title: String::new(),
            name: String::new(),
            reboot: false,
            hold: None,
            on: Changes::default(),
            lingers: false,
            join: None,
            starter: None,
            seat: None,
            remarks: Vec::new(),
        }
    }

    /// Have settings read that others are to be switched to: what is on stays unless it would be taken for the machine's
    /// own state.
    pub fn linger(&mut self) -> Result<(), Failure> {
        if self.hold.as_ref().is_some_and(|(hold, _)| hold.misleads()) {
            return self.switch(&Changes::default());
        }
        self.lingers = self.hold.is_some();
        Ok(())
    }

    /// Take off what `linger` has left.
    pub fn rest(&mut self) -> Result<(), Failure> {
        match self.lingers {
            true => self.switch(&Changes::default()),
            false => Ok(()),
        }
    }

    /// Have these changes on the machine, and no others.
    pub fn switch(&mut self, wanted: &Changes) -> Result<(), Failure> {
        self.lingers = false;
        if *wanted == self.on && self.guarded() {
            self.sit();
            return Ok(());
        }
        self.open(wanted)?;
        let Some((hold, _)) = &mut self.hold else { return Ok(()) };
        let regroups = hold.hasten(wanted);
        if regroups {
            self.stand_up();
        }
        let switched = self.switch_held(wanted);
        if let Some((hold, _)) = &mut self.hold {
            hold.calm();
        }
        switched
    }

    fn switch_held(&mut self, wanted: &Changes) -> Result<(), Failure> {
        self.join = None;
        let Some((hold, _)) = &mut self.hold else { return Ok(()) };
        let switched = hold.switch(wanted);
        if switched.is_err() {
            // Everything was put back.
            self.stand_up();
        }
        self.on = if switched.is_ok() { wanted.clone() } else { Changes::default() };
        for remark in switched.map_err(|error| failure(&error))? {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        if let Some(tasks) = wanted.join.as_ref().filter(|_| self.tree.live) {
            match self.tree.open(tasks, libc::O_WRONLY, 0) {
                Ok(file) => self.join = Some((tasks.clone(), file)),
                Err(error) => {
                    // A program that did not join would be measured among all the others.
                    self.switch(&Changes::default())?;
                    return Err(failure(&error.into()));
                }
            }
        }
        self.sit();
        Ok(())
    }

    /// Have all that this process starts begin in the group that settings make for programs; without one, programs join it
    /// by themselves. Holds from the next switch on.
    pub fn seats(&mut self, starter: Option<libc::pid_t>) {
        self.starter = starter;
    }

    fn sit(&mut self) {
        if self.seat.as_ref().is_some_and(|seat| !self.starter.is_some_and(|pid| seat.is_of(pid))) {
            self.stand_up();
        }
        if let (Some((tasks, _)), Some(pid), None) = (&self.join, self.starter, &self.seat) {
            // Where it may not, programs join by themselves, and say why they cannot.
            self.seat = Seat::take(&self.tree, pid, tasks).ok();
        }
    }

    fn stand_up(&mut self) {
        if let Some(seat) = self.seat.take() {
            seat.leave(&self.tree);
        }
    }

    /// What an earlier becalm has put on until it is reset; None when nothing is on since this boot.
    pub fn kept(&self) -> Option<Recorded> {
        let found = journal::load(&self.tree).ok().flatten()?;
        (found.kept.is_some() && found.begin.boot == journal::boot_id(&self.tree)).then_some(found)
    }

    /// Have programs join the group that such settings made for them: they are on for what becalm starts, too.
    pub fn join_kept(&mut self) {
        // SAFETY: cannot fail.
        if self.hold.is_some() || !self.tree.live || unsafe { libc::geteuid() } != 0 {
            return;
        }
        let ours = |entry: &journal::Entry| match &entry.place {
            Place::Cpuset(set) if !set.gather => Some(set.tasks()),
            Place::Weighted(group) => Some(group.tasks()),
            _ => None,
        };
        let tasks = self.kept().and_then(|found| found.entries.iter().find_map(ours));
        self.stand_up();
        self.join =
            tasks.and_then(|tasks| Some((tasks.clone(), self.tree.open(&tasks, libc::O_WRONLY, 0).ok()?)));
    }

    /// Whether programs run in a group that settings made for them.
    pub fn places(&self) -> bool {
        self.join.is_some()
    }

    /// The task file of the group that programs join by themselves, where there is one.
    pub fn join(&self) -> Option<RawFd> {
        self.join.as_ref().filter(|_| self.seat.is_none()).map(|(_, file)| file.as_raw_fd())
    }

    /// Whether putting these changes on may start a guard, for which this process must have one thread.
    pub fn forks_for(&self, wanted: &Changes) -> bool {
        !self.guarded() || (self.hold.is_none() && !wanted.writes.is_empty())
    }

    /// Whether this conversation has the machine.
    pub fn holds(&self) -> bool {
        self.hold.is_some()
    }

    /// The user who asks, by name.
    pub fn user(&self) -> String {
        self.user.clone().unwrap_or_else(own_user)
    }

    fn guarded(&self) -> bool {
        self.hold.as_ref().is_none_or(|(_, guard)| guard.alive())
    }

    /// Have lock, journal and guard, if these changes need them.
    fn open(&mut self, wanted: &Changes) -> Result<(), Failure> {
        if self.hold.is_none() {
            if wanted.writes.is_empty() {
                return Ok(());
            }
            self.check_rights()?;
            let (hold, recovered) = Hold::open(&self.tree, &self.begin()).map_err(|error| failure(&error))?;
            self.remarks.extend(recovered.map(|recovered| recovered.sentence));
            match Guard::start(&self.tree, hold.lock(), self.patience, &self.clock) {
                Ok(guard) => self.hold = Some((hold, guard)),
                Err(error) => {
                    drop(hold.release(false));
                    return Err(failure(&error.into()));
                }
            }
        }
        if let Some((hold, guard)) = &mut self.hold {
            if !guard.alive() {
                // Somebody killed it: the net must be there again before the next write.
                *guard = Guard::start(&self.tree, hold.lock(), self.patience, &self.clock)
                    .map_err(|error| failure(&error.into()))?;
            }
        }
        Ok(())
    }

    /// Raise a refusal where a real machine would be changed while its clock is scripted.
    fn check_clock(&self) -> Result<(), Failure> {
        if !self.tree.live || !self.clock.is_scripted() {
            return Ok(());
        }
        Err(Failure::new(
            "refused",
            "This agent has a scripted clock and so changes no settings of the machine. Start it without --script, or \
             with --root and a directory that looks like a machine.",
        ))
    }

    pub fn check_rights(&self) -> Result<(), Failure> {
        self.check_clock()?;
        // SAFETY: cannot fail.
        if !self.tree.live || unsafe { libc::geteuid() } == 0 {
            return Ok(());
        }
        Err(Failure::new(
            "permission",
            "Settings of the machine need root. Use --sudo; the program still runs as you.",
        ))
    }

    /// Who changes the machine now, and for what.
    pub fn begin(&self) -> Begin {
        Begin {
            boot: journal::boot_id(&self.tree),
            becalm: env!("CARGO_PKG_VERSION").to_owned(),
            user: self.owner(),
            pid: std::process::id(),
            title: self.title.clone(),
            at: self.clock.unix_s(),
        }
    }

    /// What somebody else has changed since it was set.
    pub fn drift(&mut self) -> Vec<Drift> {
        self.hold.as_mut().map_or(Vec::new(), |(hold, _)| hold.drift())
    }

    /// What the kernel made of values that it was given.
    pub fn clamped(&mut self) -> Vec<Clamped> {
        self.hold.as_mut().map_or(Vec::new(), |(hold, _)| hold.clamped())
    }

    /// Put everything back but what somebody else changed.
    pub fn release(&mut self) -> Vec<Restored> {
        self.put_back(false)
    }

    fn put_back(&mut self, force: bool) -> Vec<Restored> {
        self.stand_up();
        self.join = None;
        self.on = Changes::default();
        let Some((hold, guard)) = self.hold.take() else { return Vec::new() };
        let (outcomes, lock) = hold.release(force);
        // The guard goes before the lock does, so that the next becalm finds it free.
        guard.dismiss();
        drop(lock);
        self.settle();
        outcomes
    }

    /// Bring interrupts back that have fired since an earlier becalm gave them up. Only whoever may set masks can.
    pub fn retry_interrupts(&mut self) {
        // SAFETY: cannot fail.
        let may = !self.tree.live || unsafe { libc::geteuid() } == 0;
        // What cannot be tried is told by `status` as before.
        if may && away::try_fired(&self.tree).unwrap_or(false) {
            self.settle();
        }
    }

    /// See interrupts back that fire at once; somebody else waits for the others.
    fn settle(&mut self) {
        let waited = away::settle(&self.tree, AT_ONCE.min(self.patience), self.patience <= AT_ONCE).and_then(
            |under_way| match under_way {
                true => wait_for_interrupts(&self.tree, self.patience),
                false => Ok(()),
            },
        );
        if let Err(error) = waited {
            // The masks must be as before; where the interrupts arrive is told.
            drop(away::settle(&self.tree, Duration::ZERO, true));
            self.remarks.push(format!("Nobody waits for interrupts that are on their way back: {error}."));
        }
    }

    /// Leave what is on, until it is reset.
    pub fn keep(&mut self, settings: &Map<String, Value>) -> Result<(), Failure> {
        if self.on.writes.is_empty() {
            // There is nothing that could stay, so nothing is left that would have to be reset.
            self.release();
            return Ok(());
        }
        let Some((hold, _)) = &mut self.hold else { return Ok(()) };
        if let Err(error) = hold.keep(settings, keeper) {
            self.release();
            return Err(failure(&error));
        }
        self.join = None;
        self.on = Changes::default();
        if let Some((hold, guard)) = self.hold.take() {
            guard.dismiss();
            drop(hold);
        }
        self.settle();
        Ok(())
    }

    /// Put back what is on or was left behind, whoever set it. `force`: also what somebody else changed, and end whoever
    /// holds the machine; `mine`: nothing of others; `entry`: remove a boot entry, too.
    pub fn restore(&mut self, force: bool, mine: bool, entry: bool) -> Result<Value, Failure> {
        self.check_clock()?;
        let whose = self.owned()?;
        if mine {
            self.check_owner(whose.as_ref())?;
        }
        let ended = if force { self.free()? } else { String::new() };
        let entry = entry && !(mine && self.entry_of_others()?);
        let entry = if entry { self.remove_entry(force) } else { Ok(Vec::new()) };
        let recovered = self.recover(force)?;
        let entry = entry?;
        let groups = Groups::remove(&self.tree);
        let sentences = [ended, recovered.sentence, self.removed(&entry), groups.removed()];
        let said: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
        let mut report = self.report(&[recovered.places, entry].concat(), &said.join(" "));
        if let Some(unsettled) = report["unsettled"].as_array_mut() {
            unsettled.extend(groups.left().map(Value::from));
        }
        report["owner"] = whose.map(|begin| begin.user).into();
        Ok(report)
    }

    /// What restoring came to, for the answer to a request.
    pub fn report(&self, outcomes: &[Restored], sentence: &str) -> Value {
        let elsewhere = away::sentences(&self.tree);
        json!({
            "places": outcomes,
            "unsettled": unsettled(outcomes),
            "elsewhere": elsewhere,
            "staying": away::staying(&self.tree),
            "sentence": sentence,
        })
    }

    fn recover(&mut self, force: bool) -> Result<Recovered, Failure> {
        if self.hold.is_some() {
            return Ok(Recovered { places: self.put_back(force), sentence: String::new() });
        }
        let note = journal::noted(&self.tree).unwrap_or_default();
        journal::forget(&self.tree);
        let found = journal::load(&self.tree).map_err(|error| failure(&error.into()))?;
        if found.is_none() && away::listed(&self.tree).is_empty() {
            return Ok(Recovered { places: Vec::new(), sentence: note });
        }
        self.check_rights()?;
        let mut recovered = self.locked(|machine| {
            away::try_again(&machine.tree).map_err(|error| failure(&error.into()))?;
            clear(&machine.tree, machine.clock.unix_s(), force).map_err(|error| failure(&error))
        })?;
        self.settle();
        if found.is_none() {
            recovered.sentence = note;
        }
        Ok(recovered)
    }

    /// Do something under the lock: this conversation's, when it has it already, else one for this time.
    pub fn locked<T>(&self, work: impl FnOnce(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.hold.is_some() {
            return work(self);
        }
        let lock = Lock::take(&self.tree, &self.begin()).map_err(|error| match error {
            LockError::Held(who) => failure(&HoldError::Busy(who)),
            LockError::System(error) => failure(&error.into()),
        })?;
        let done = work(self);
        drop(lock);
        done
    }
}

fn failure(error: &HoldError) -> Failure {
    let kind = match error {
        HoldError::Busy(_) => "busy",
        HoldError::Kept { .. } => "kept",
        HoldError::Unsettled(_) | HoldError::Stuck(_) => "unsettled",
        HoldError::Journal { .. } => "journal",
        HoldError::Refused { .. } | HoldError::NotTaken { .. } | HoldError::Restless { .. } => "refused",
        HoldError::System(_) => "system",
    };
    let message = match error {
        HoldError::System(error) => format!("The machine's settings could not be changed: {error}."),
        error => error.to_string(),
    };
    Failure::new(kind, message)
}

/// This process's user by name. Other programs are asked for that: only when it is needed.
fn own_user() -> String {
    // SAFETY: cannot fail.
    let number = unsafe { libc::getuid() }.to_string();
    lookup(&number).map_or_else(|| format!("user {number}"), |user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use becalm_core::knob::played::machine;
    use becalm_core::time::ScriptedClock;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn a_scripted_clock_takes_the_right_to_change_the_real_machine() {
        let rights = |root: &str, clock: AnyClock| {
            let tree = machine(Path::new(root));
            Machine::new(tree, None, AT_ONCE, clock).check_rights().map_err(|failure| failure.kind)
        };
        let scripted = || AnyClock::Scripted(Arc::new(ScriptedClock::new(0, 0, 0)));
        assert_eq!(rights("/", scripted()), Err("refused"));
        assert_eq!(rights("/nowhere", scripted()), Ok(()));
        assert_ne!(rights("/", AnyClock::System), Err("refused"));
    }
}
