//! The restore of everything that is applied, at the end of a conversation or after one that was killed.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Held;
use crate::away;
use crate::changes::Changes;
use crate::failure::Failure;
use crate::guard::{keeper, wait_for_interrupts};
use crate::journal;
use crate::lock::Lock;
use crate::recover::{clear, Recovered};
use crate::restore::Restored;

/// The time for which a restore waits for interrupts to return; those of a busy device return within it.
const AT_ONCE: Duration = Duration::from_millis(100);

impl Held {
    /// Restore everything except what somebody else has changed.
    pub fn release(&mut self) -> Vec<Restored> {
        self.restore_all(false)
    }

    fn restore_all(&mut self, force: bool) -> Vec<Restored> {
        self.return_starter();
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

    /// Bring back the interrupts that have fired since an earlier becalm gave them up. Only a process that
    /// may set masks can.
    pub fn retry_interrupts(&mut self) {
        // Interrupts that cannot be tried again are reported by `status` as before.
        if self.may_change() && away::try_fired(&self.tree).unwrap_or(false) {
            self.settle();
        }
    }

    /// Wait for interrupts that fire at once; a keeper waits for the others.
    fn settle(&mut self) {
        let waited =
            away::settle(&self.tree, AT_ONCE.min(self.context.patience), self.context.patience <= AT_ONCE)
                .and_then(|under_way| match under_way {
                    true => wait_for_interrupts(&self.tree, self.context.patience),
                    false => Ok(()),
                });
        if let Err(error) = waited {
            // The masks must be as before; where the interrupts arrive is reported.
            drop(away::settle(&self.tree, Duration::ZERO, true));
            self.remarks.push(format!("Nobody waits for interrupts that are on their way back: {error}."));
        }
    }

    /// Leave the settings on until they are reset.
    pub fn keep(&mut self, settings: &Map<String, Value>) -> Result<(), Failure> {
        if self.on.writes.is_empty() {
            // Nothing can stay, so nothing is left that would have to be reset.
            self.release();
            return Ok(());
        }
        let Some((hold, _)) = &mut self.hold else { return Ok(()) };
        if let Err(error) = hold.keep(settings, keeper) {
            self.release();
            return Err(error);
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

    /// Restore the settings that are on or were left behind, whoever applied them. `force`: also what
    /// somebody else changed, and end the process that holds the machine. `mine`: refuse to restore somebody
    /// else's.
    pub fn restore(&mut self, force: bool, mine: bool) -> Result<Recovered, Failure> {
        let whose = self.owned()?;
        if mine {
            self.check_owner(whose.as_ref())?;
        }
        let ended = if force { self.free()? } else { String::new() };
        let mut recovered = self.recover(force)?;
        recovered.sentence = [ended, recovered.sentence].join(" ").trim().to_owned();
        recovered.owner = whose.map(|begin| begin.user);
        Ok(recovered)
    }

    fn recover(&mut self, force: bool) -> Result<Recovered, Failure> {
        if self.hold.is_some() {
            return Ok(Recovered { places: self.restore_all(force), ..Recovered::default() });
        }
        let note = journal::noted(&self.tree).unwrap_or_default();
        journal::forget(&self.tree);
        let found = journal::load(&self.tree)?;
        if found.is_none() && away::listed(&self.tree).is_empty() {
            return Ok(Recovered { sentence: note, ..Recovered::default() });
        }
        self.check_rights()?;
        let mut recovered = self.locked(|machine| {
            away::try_again(&machine.tree)?;
            clear(&machine.tree, (machine.context.now)(), force)
        })?;
        self.settle();
        if found.is_none() {
            recovered.sentence = note;
        }
        Ok(recovered)
    }

    /// Do something under the lock: the lock of this conversation if it holds it, else one taken for this.
    pub fn locked<T>(&self, work: impl FnOnce(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.hold.is_some() {
            return work(self);
        }
        let lock = Lock::take(&self.tree, &self.begin())?;
        let done = work(self);
        drop(lock);
        done
    }
}
