//! The place of programs while settings are on: the group that settings create for them.

use super::moved_starter::MovedStarter;
use super::Held;
use crate::journal::{self, Recorded};

impl Held {
    /// Have all that this process starts begin in the group that settings create for programs; without one,
    /// programs join it by themselves. Takes effect at the next switch.
    pub fn set_starter(&mut self, starter: Option<libc::pid_t>) {
        self.starter = starter;
    }

    /// Apply the choice of `set_starter` at once, without a switch.
    pub fn move_starter(&mut self) {
        if self
            .moved_starter
            .as_ref()
            .is_some_and(|moved| !self.starter.is_some_and(|pid| moved.has_pid(pid)))
        {
            self.return_starter();
        }
        if let (Some(tasks), Some(pid), None) = (&self.join, self.starter, &self.moved_starter) {
            // If that fails, programs join by themselves and report why they cannot.
            self.moved_starter = MovedStarter::enter(&self.tree, pid, tasks).ok();
        }
    }

    /// Leave a process where it is: it has ended, and another process may have its number.
    pub fn forget_starter(&mut self) {
        (self.moved_starter, self.starter) = (None, None);
    }

    /// Return whether what this process, or another one, starts begins in the group of the settings.
    pub fn starter_is_moved(&self) -> bool {
        self.moved_starter.is_some()
    }

    pub(super) fn return_starter(&mut self) {
        if let Some(moved) = self.moved_starter.take() {
            moved.leave(&self.tree);
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
        self.return_starter();
        self.join = self.kept().and_then(|found| found.entries.iter().find_map(|entry| entry.place.joined()));
    }

    /// Return the task file of the group that settings created for programs.
    pub fn group(&self) -> Option<&str> {
        self.join.as_deref()
    }
}
