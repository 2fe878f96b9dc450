//! The machine as one conversation changes it: settings put on, drift noticed, everything put back at the end.
//!
//! Whoever serves the conversation asks for what a request wants. Nothing is opened before the first setting that touches the machine; from
//! then on there is a hold (lock, journal) and a guard. `told` says what can be set and what is set, changing nothing.

mod seat;
mod told;

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use becalm_core::knob::away;
use becalm_core::knob::changes::Changes;
use becalm_core::knob::hold::{Clamped, Drift, Hold};
use becalm_core::knob::journal::{self, Begin, Recorded};
use becalm_core::knob::lock::Lock;
use becalm_core::knob::place::Place;
use becalm_core::knob::recover::{clear, Recovered};
use becalm_core::knob::restore::{unsettled, Restored};
use becalm_core::knob::settings::Settings;
use becalm_core::knob::tree::Tree;
use becalm_core::time::{AnyClock, Clock};
use serde_json::{json, Map, Value};

use crate::failure::Failure;
use crate::groups::Groups;
use crate::guard::{keeper, wait_for_interrupts, Guard};
use seat::Seat;

/// The time for which a restore waits for interrupts to return: those of a busy device do.
const AT_ONCE: Duration = Duration::from_millis(100);

/// A machine and what is set on it.
pub struct Held {
    pub tree: Tree,
    /// The name of the user who asks, looked up when it is needed.
    who: Box<dyn Fn() -> String>,
    pub title: String,
    /// The person's name for it, apart from others of the same user.
    pub name: String,
    /// The time that interrupts may take to return to their CPUs.
    pub patience: Duration,
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
    /// Remarks for a person on the settings that were applied.
    pub remarks: Vec<String>,
}

impl Held {
    /// The machine below a root; `who` gives the name of who asks.
    pub fn new(tree: Tree, who: Box<dyn Fn() -> String>, patience: Duration, clock: AnyClock) -> Self {
        Self {
            tree,
            who,
            patience,
            clock,
            title: String::new(),
            name: String::new(),
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
        for remark in switched.map_err(Failure::from)? {
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
                    return Err(error.into());
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

    /// Have what `seats` has said at once, without a switch.
    pub fn sit(&mut self) {
        if self.seat.as_ref().is_some_and(|seat| !self.starter.is_some_and(|pid| seat.is_of(pid))) {
            self.stand_up();
        }
        if let (Some((tasks, _)), Some(pid), None) = (&self.join, self.starter, &self.seat) {
            // Where it may not, programs join by themselves, and say why they cannot.
            self.seat = Seat::take(&self.tree, pid, tasks).ok();
        }
    }

    /// Leave a process where it is: it has ended, and its number may be another's.
    pub fn forget(&mut self) {
        (self.seat, self.starter) = (None, None);
    }

    /// Whether what this process, or another one, starts begins in the group of settings.
    pub fn is_seated(&self) -> bool {
        self.seat.is_some()
    }

    fn stand_up(&mut self) {
        if let Some(seat) = self.seat.take() {
            seat.leave(&self.tree);
        }
    }

    /// Return the settings that an earlier becalm left on until `reset`; None without any since this boot.
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
        (self.who)()
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
            let (hold, recovered) = Hold::open(&self.tree, &self.begin()).map_err(Failure::from)?;
            self.remarks.extend(recovered.map(|recovered| recovered.sentence));
            match Guard::start(&self.tree, hold.lock(), self.patience, &self.clock) {
                Ok(guard) => self.hold = Some((hold, guard)),
                Err(error) => {
                    drop(hold.release(false));
                    return Err(error.into());
                }
            }
        }
        if let Some((hold, guard)) = &mut self.hold {
            if !guard.alive() {
                // Somebody killed it: the net must be there again before the next write.
                *guard = Guard::start(&self.tree, hold.lock(), self.patience, &self.clock)
                    .map_err(Failure::from)?;
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

    /// Return who changes the machine now, and for what.
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

    /// Put settings on that were read while none were; with `keep` they stay when the conversation ends. What was changed, for the answer to a request.
    pub fn hold(
        &mut self,
        given: &Map<String, Value>,
        settings: Settings,
        keep: bool,
    ) -> Result<Value, Failure> {
        let changes = self.plan(&settings.changes);
        let started = self.clock.now_ns();
        self.switch(&settings.changes)?;
        let took_ns = self.clock.now_ns() - started;
        if keep {
            self.keep(given)?;
        }
        let changes = self.done(&settings.changes, changes);
        let remarks = std::mem::take(&mut self.remarks);
        let Changes { lasting, .. } = &settings.changes;
        Ok(json!({"changes": changes, "remarks": remarks, "lasting": lasting, "took_ns": took_ns}))
    }

    /// Places that somebody else has changed since they were set.
    pub fn drift(&mut self) -> Vec<Drift> {
        self.hold.as_mut().map_or(Vec::new(), |(hold, _)| hold.drift())
    }

    /// Values that the kernel has changed as they were written.
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
            return Err(error.into());
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

    /// Make way for `restore`: who has put on what is on, and what was ended, in a sentence. `force`: end whoever holds the
    /// machine; `mine`: refuse what is somebody else's.
    pub fn clear_way(&self, force: bool, mine: bool) -> Result<(Option<String>, String), Failure> {
        self.check_clock()?;
        let whose = self.owned()?;
        if mine {
            self.check_owner(whose.as_ref())?;
        }
        let ended = if force { self.free()? } else { String::new() };
        Ok((whose.map(|begin| begin.user), ended))
    }

    /// Put back what is on or was left behind, once the way is clear. `force`: also what somebody else changed.
    pub fn restore(
        &mut self,
        force: bool,
        (owner, ended): (Option<String>, String),
    ) -> Result<Value, Failure> {
        let recovered = self.recover(force)?;
        let groups = Groups::remove(&self.tree);
        let said: Vec<String> = [ended, recovered.sentence, groups.removed()]
            .into_iter()
            .filter(|each| !each.is_empty())
            .collect();
        let mut report = self.report(&recovered.places, &said.join(" "));
        if let Some(unsettled) = report["unsettled"].as_array_mut() {
            unsettled.extend(groups.left().map(Value::from));
        }
        report["owner"] = owner.into();
        Ok(report)
    }

    /// Return the outcome of restoring, for the answer to a request.
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
        let found = journal::load(&self.tree).map_err(Failure::from)?;
        if found.is_none() && away::listed(&self.tree).is_empty() {
            return Ok(Recovered { places: Vec::new(), sentence: note });
        }
        self.check_rights()?;
        let mut recovered = self.locked(|machine| {
            away::try_again(&machine.tree)?;
            clear(&machine.tree, machine.clock.unix_s(), force).map_err(Failure::from)
        })?;
        self.settle();
        if found.is_none() {
            recovered.sentence = note;
        }
        Ok(recovered)
    }

    /// Do something under the lock: this conversation's, when it has it already, else one for this time.
    pub fn locked<T, E: From<Failure>>(&self, work: impl FnOnce(&Self) -> Result<T, E>) -> Result<T, E> {
        if self.hold.is_some() {
            return work(self);
        }
        let lock = Lock::take(&self.tree, &self.begin()).map_err(Failure::from)?;
        let done = work(self);
        drop(lock);
        done
    }
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
            Held::new(tree, Box::new(String::new), AT_ONCE, clock)
                .check_rights()
                .map_err(|failure| failure.kind)
        };
        let scripted = || AnyClock::Scripted(Arc::new(ScriptedClock::new(0, 0, 0)));
        assert_eq!(rights("/", scripted()), Err("refused"));
        assert_eq!(rights("/nowhere", scripted()), Ok(()));
        assert_ne!(rights("/", AnyClock::System), Err("refused"));
    }
}
