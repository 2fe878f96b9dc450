//! The requests about the machine's next boot: `boot`, `reboot`, `healthy`, `keep_boot` and `unboot`, and the
//! parts of `status` and `restore` about boot entries. `machine` has the lock and the rights, and
//! `becalm_core::boot` does the work.

use std::fs;

use becalm_core::boot::arm::{arm, disarm, healthy, keep, restart, status};
use becalm_core::boot::plan::{Request, Write};
use becalm_core::boot::{record, running, BootError};
use becalm_core::knob::restore::{unsettled, Restored};
use serde_json::{json, Value};

use crate::machine::Machine;
use crate::protocol::Failure;
use crate::settings_report::restored;

/// The range of seconds in which a machine must have started and been asked: less is too short for a boot,
/// and more does not help.
const LIMITS_S: std::ops::RangeInclusive<u32> = 60..=3600;

type Answer = Result<Value, Failure>;

impl Machine {
    /// Make the next boot use these parameters.
    pub fn boot(&mut self, parameters: Vec<String>, limit_s: u32, dangerous: bool) -> Answer {
        self.check_consent()?;
        self.check_root()?;
        if !LIMITS_S.contains(&limit_s) {
            let (low, high) = LIMITS_S.into_inner();
            let message = format!("limit_s takes {low} to {high} seconds, not {limit_s}.");
            return Err(Failure::new("domain", message));
        }
        let request = Request { parameters, limit_s, mark: mark()? };
        let plan = self.locked(|machine| {
            arm(&machine.tree, &request, &machine.begin(), dangerous).map_err(Failure::from)
        })?;
        Ok(json!({
            "loader": plan.loader,
            "entry": plan.entry,
            "mark": plan.mark,
            "default": plan.default,
            "parameters": plan.parameters,
            "limit_s": plan.limit_s,
            "files": plan.writes.iter().map(Write::path).collect::<Vec<_>>(),
            "remarks": plan.remarks,
        }))
    }

    /// Restore all settings and restart the machine.
    pub fn reboot(&mut self) -> Answer {
        self.check_consent()?;
        self.check_root()?;
        let report = self.release()?;
        let open = report["unsettled"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let open: Vec<&str> = open.collect();
        if !open.is_empty() {
            let message =
                format!("The machine is not restarted, since not all is restored:\n{}", open.join("\n"));
            return Err(Failure::new("unsettled", message));
        }
        self.locked(|machine| restart(&machine.tree).map_err(Failure::from))?;
        Ok(json!({}))
    }

    /// Stop the fall-back, on the new boot.
    pub fn healthy(&mut self) -> Answer {
        self.check_root()?;
        let health = self.locked(|machine| healthy(&machine.tree).map_err(Failure::from))?;
        Ok(json!(health))
    }

    /// Make the new boot the default, on the new boot.
    pub fn keep_boot(&mut self, parameters: &[String]) -> Answer {
        self.check_consent()?;
        self.check_root()?;
        let plan = self.locked(|machine| keep(&machine.tree, parameters).map_err(Failure::from))?;
        Ok(json!({
            "entry": plan.entry,
            "parameters": plan.parameters,
            "files": plan.writes.iter().map(Write::path).collect::<Vec<_>>(),
        }))
    }

    /// Remove everything written for a boot entry. `force` includes what others have changed since.
    pub fn unboot(&mut self, force: bool) -> Answer {
        let removed = self.remove_entry(force)?;
        Ok(restored(&self.tree, &removed, &self.removed(&removed)))
    }

    /// Return the places that were removed; none if there was no entry.
    pub fn remove_entry(&mut self, force: bool) -> Result<Vec<Restored>, Failure> {
        if !record::exists(&self.tree) {
            return Ok(Vec::new());
        }
        self.check_root()?;
        self.locked(|machine| disarm(&machine.tree, force).map_err(Failure::from))
    }

    /// Return a sentence about the removal; empty if there was nothing to remove.
    pub fn removed(&self, places: &[Restored]) -> String {
        let open = unsettled(places).len();
        if places.is_empty() {
            return String::new();
        }
        if open > 0 {
            return format!(
                "Of becalm's boot entry, {open} of {} places could not be removed.",
                places.len()
            );
        }
        let until = "This machine still runs with its parameters, until its next restart.";
        match running::mark(&self.tree) {
            Some(_) => format!("becalm's boot entry was removed. {until}"),
            None => "becalm's boot entry was removed.".to_owned(),
        }
    }

    /// Return the state of the boot entry; null if there is none.
    pub fn entry(&self) -> Answer {
        match status(&self.tree) {
            // A damaged record must not hide the rest of the status.
            Err(BootError::Damaged { path }) => Ok(json!({"damaged": path})),
            found => found.map(|found| json!(found)).map_err(Failure::from),
        }
    }

    /// Return whether there is a boot entry of another or an unknown user.
    pub fn entry_of_others(&self) -> Result<bool, Failure> {
        let entry = self.entry()?;
        Ok(!entry.is_null() && entry["user"].as_str() != Some(&self.owner()))
    }

    /// Fail unless this process is root itself: `becalm-helper` does not change how a machine boots.
    fn check_root(&self) -> Result<(), Failure> {
        let message = "Only root can change how the machine starts. Run becalm itself as root: sudo becalm …";
        self.check_rights().map_err(|failure| match failure.kind {
            "permission" => Failure::new("permission", message),
            _ => failure,
        })
    }

    fn check_consent(&self) -> Result<(), Failure> {
        if self.reboot {
            return Ok(());
        }
        Err(Failure::new("consent", "Restarting the machine needs consent: --allow-reboot"))
    }
}

/// Return a random mark that identifies an entry. The kernel returns a new number for each read (random(4)).
fn mark() -> Result<String, Failure> {
    let text = fs::read_to_string("/proc/sys/kernel/random/uuid");
    text.map(|text| text.chars().take(8).collect()).map_err(|error| BootError::from(error).into())
}
