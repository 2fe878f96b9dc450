//! The place of programs while settings are on: the group that settings create for them.

use super::seat::Seat;
use super::Held;
use crate::journal::{self, Recorded};

impl Held {
    /// Have all that this process starts begin in the group that settings create for programs; without one,
    /// programs join it by themselves. Takes effect at the next switch.
    pub fn seats(&mut self, starter: Option<libc::pid_t>) {
        self.starter = starter;
    }

    /// Apply the choice of `seats` at once, without a switch.
    pub fn sit(&mut self) {
        if self.seat.as_ref().is_some_and(|seat| !self.starter.is_some_and(|pid| seat.is_of(pid))) {
            self.stand_up();
        }
        if let (Some(tasks), Some(pid), None) = (&self.join, self.starter, &self.seat) {
            // If that fails, programs join by themselves and report why they cannot.
            self.seat = Seat::take(&self.tree, pid, tasks).ok();
        }
    }

    /// Leave a process where it is: it has ended, and another process may have its number.
    pub fn forget(&mut self) {
        (self.seat, self.starter) = (None, None);
    }

    /// Return whether what this process, or another one, starts begins in the group of the settings.
    pub fn is_seated(&self) -> bool {
        self.seat.is_some()
    }

    pub(super) fn stand_up(&mut self) {
        if let Some(seat) = self.seat.take() {
            seat.leave(&self.tree);
        }
    }

    /// Return the settings that an earlier becalm left on until `reset`; None if there are none since this
    /// boot.
    pub fn kept(&self) -> Option<Recorded> {
        let found = journal::load(&self.tree).ok().flatten()?;
        (found.kept.is_some() && found.begin.boot == journal::boot_id(&self.tree)).then_some(found)
    }

    /// Have programs join the group that such settings created for them: they also apply to what becalm
    /// starts.
    pub fn join_kept(&mut self) {
        if self.hold.is_some() || !self.tree.live || !self.may_change() {
            return;
        }
        self.stand_up();
        self.join = self.kept().and_then(|found| found.entries.iter().find_map(|entry| entry.place.joined()));
    }

    /// Return the task file of the group that settings created for programs.
    pub fn group(&self) -> Option<&str> {
        self.join.as_deref()
    }
}
