//! The machine as one conversation changes it: settings are applied, drift is noticed, everything is restored
//! at the end.
//!
//! Nothing is opened before the first setting that changes the machine; from then on there is a hold (lock,
//! journal) and a guard. `placement` decides where programs run meanwhile (`moved_starter`), `ending` restores
//! everything.

mod ending;
mod moved_starter;
mod placement;

use self::moved_starter::MovedStarter;
use crate::changes::Changes;
use crate::failure::Failure;
use crate::guard::{Guard, GuardContext};
use crate::hold::{Difference, Hold};
use crate::journal::{self, Begin};
use crate::tree::Tree;

/// The file that drops the page cache.
const CACHES: &str = "/proc/sys/vm/drop_caches";

/// A machine and the settings that are applied to it.
pub struct Held {
    pub tree: Tree,
    /// Return the name of the user of this conversation, looked up when it is needed.
    who: Box<dyn Fn() -> String>,
    pub title: String,
    /// The name that the user gave this conversation, to distinguish it from others of the same user.
    pub name: String,
    /// The data for the guard; its clock dates the journal.
    pub context: GuardContext,
    hold: Option<(Hold, Guard)>,
    on: Changes,
    /// The task file of the group that programs join.
    join: Option<String>,
    /// The process that starts programs, if all that it starts belongs in that group.
    starter: Option<libc::pid_t>,
    /// The process that was moved there.
    moved_starter: Option<MovedStarter>,
    /// Remarks for a person on the settings that were applied.
    pub remarks: Vec<String>,
}

impl Held {
    /// Use the machine below a root; `who` returns the name of the user.
    pub fn new(tree: Tree, who: Box<dyn Fn() -> String>, context: GuardContext) -> Self {
        Self {
            tree,
            who,
            context,
            title: String::new(),
            name: String::new(),
            hold: None,
            on: Changes::default(),
            join: None,
            starter: None,
            moved_starter: None,
            remarks: Vec::new(),
        }
    }

    /// Apply these changes to the machine, and restore all others.
    pub fn switch(&mut self, wanted: &Changes) -> Result<(), Failure> {
        if *wanted == self.on && self.guarded() {
            self.move_starter();
            return Ok(());
        }
        self.open(wanted)?;
        let Some((hold, _)) = &mut self.hold else { return Ok(()) };
        let regroups = hold.hasten(wanted);
        if regroups {
            self.return_starter();
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
            // Everything was restored.
            self.return_starter();
        }
        self.on = if switched.is_ok() { wanted.clone() } else { Changes::default() };
        for remark in switched? {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        self.join = wanted.join().filter(|_| self.tree.live);
        self.move_starter();
        Ok(())
    }

    /// Return whether applying these changes may start a guard, for which this process must have one thread.
    pub fn forks_for(&self, wanted: &Changes) -> bool {
        !self.guarded() || (self.hold.is_none() && !wanted.writes.is_empty())
    }

    /// Return whether this conversation holds the machine.
    pub fn holds(&self) -> bool {
        self.hold.is_some()
    }

    /// Return the user's name.
    pub fn user(&self) -> String {
        (self.who)()
    }

    fn guarded(&self) -> bool {
        self.hold.as_ref().is_none_or(|(_, guard)| guard.alive())
    }

    /// Open lock, journal and guard, if these changes need them.
    fn open(&mut self, wanted: &Changes) -> Result<(), Failure> {
        if self.hold.is_none() {
            if wanted.writes.is_empty() {
                return Ok(());
            }
            self.check_rights()?;
            let (hold, recovered) = Hold::open(&self.tree, &self.begin())?;
            self.remarks.extend(recovered.map(|recovered| recovered.sentence));
            match Guard::start(&self.tree, hold.lock(), &self.context) {
                Ok(guard) => self.hold = Some((hold, guard)),
                Err(error) => {
                    drop(hold.release(false));
                    return Err(error.into());
                }
            }
        }
        if let Some((hold, guard)) = &mut self.hold {
            if !guard.alive() {
                // Somebody killed it: a guard must run again before the next write.
                *guard = Guard::start(&self.tree, hold.lock(), &self.context)?;
            }
        }
        Ok(())
    }

    /// Raise a refusal where this process may not change the machine.
    pub fn check_rights(&self) -> Result<(), Failure> {
        if self.may_change() {
            return Ok(());
        }
        Err(Failure::new(
            "permission",
            "Settings of the machine need root. Use --sudo; the program still runs as you.",
        ))
    }

    fn may_change(&self) -> bool {
        // SAFETY: cannot fail.
        !self.tree.live || unsafe { libc::geteuid() } == 0
    }

    /// Drop all files from the page cache (proc_sys_vm(5)).
    pub fn drop_caches(&self) -> Result<(), Failure> {
        // SAFETY: no arguments.
        unsafe { libc::sync() };
        self.tree.write(CACHES, "3").map_err(|error| {
            Failure::new("system", format!("The page cache could not be dropped: {CACHES}: {error}."))
        })
    }

    /// Return who changes the machine now, and why.
    pub fn begin(&self) -> Begin {
        Begin {
            boot: journal::boot_id(&self.tree),
            becalm: env!("CARGO_PKG_VERSION").to_owned(),
            user: self.owner(),
            pid: std::process::id(),
            title: self.title.clone(),
            at: (self.context.now)(),
        }
    }

    /// Return the places that somebody else has changed since they were set.
    pub fn drift(&mut self) -> Vec<Difference> {
        self.hold.as_mut().map_or(Vec::new(), |(hold, _)| hold.drift())
    }

    /// Return the values that the kernel has changed as they were written.
    pub fn clamped(&mut self) -> Vec<Difference> {
        self.hold.as_mut().map_or(Vec::new(), |(hold, _)| hold.clamped())
    }
}
