//! The requests about the machine's next boot: `boot`, `reboot`, `healthy`, `keep_boot`, `unboot`, and what `status` and `restore` say
//! of it. `machine` has lock and rights, `becalm_core::boot` does the work.

use std::fs;

use becalm_core::boot::arm::{arm, disarm, healthy, keep, restart, status};
use becalm_core::boot::plan::{Request, Write};
use becalm_core::boot::{record, running, BootError};
use becalm_core::knob::restore::{unsettled, Restored};
use serde_json::{json, Value};

use crate::machine::Machine;
use crate::protocol::Failure;
use crate::settings_report::restored;

/// Seconds that a machine may take to come up and be asked: less is no time to start in, more helps nobody.
const LIMITS_S: std::ops::RangeInclusive<u32> = 60..=3600;

type Answer = Result<Value, Failure>;

impl Machine {
    /// Have the next start be one with these parameters.
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

    /// Put all settings back and have the machine restart.
    pub fn reboot(&mut self) -> Answer {
        self.check_consent()?;
        self.check_root()?;
        let report = self.release()?;
        let open = report["unsettled"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let open: Vec<&str> = open.collect();
        if !open.is_empty() {
            let message =
                format!("The machine is not restarted, since not all is put back:\n{}", open.join("\n"));
            return Err(Failure::new("unsettled", message));
        }
        self.locked(|machine| restart(&machine.tree).map_err(Failure::from))?;
        Ok(json!({}))
    }

    /// On the new boot: stop the fall-back.
    pub fn healthy(&mut self) -> Answer {
        self.check_root()?;
        let health = self.locked(|machine| healthy(&machine.tree).map_err(Failure::from))?;
        Ok(json!(health))
    }

    /// On the new boot: have every start be that one.
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

    /// Remove all that was written for an entry. `force`: also what somebody else has changed.
    pub fn unboot(&mut self, force: bool) -> Answer {
        let removed = self.remove_entry(force)?;
        Ok(restored(&self.tree, &removed, &self.removed(&removed)))
    }

    /// The places that were removed; none when there was no entry.
    pub fn remove_entry(&mut self, force: bool) -> Result<Vec<Restored>, Failure> {
        if !record::exists(&self.tree) {
            return Ok(Vec::new());
        }
        self.check_root()?;
        self.locked(|machine| disarm(&machine.tree, force).map_err(Failure::from))
    }

    /// What removing came to, in a sentence; empty when there was nothing.
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

    /// What is there of an entry; null when nothing is.
    pub fn entry(&self) -> Answer {
        match status(&self.tree) {
            // Whoever looks should see the rest all the same.
            Err(BootError::Damaged { path }) => Ok(json!({"damaged": path})),
            found => found.map(|found| json!(found)).map_err(Failure::from),
        }
    }

    /// Whether there is a boot entry that somebody else wrote, or nobody knows who.
    pub fn entry_of_others(&self) -> Result<bool, Failure> {
        let entry = self.entry()?;
        Ok(!entry.is_null() && entry["user"].as_str() != Some(&self.owner()))
    }

    /// Raise a refusal unless this process is root itself: `becalm-helper` does not touch what a machine starts with.
    fn check_root(&self) -> Result<(), Failure> {
        let message =
            "How the machine starts is changed by root alone. Run becalm itself as root: sudo becalm …";
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

/// What tells one entry from another. The kernel gives a new random number each time (random(4)).
fn mark() -> Result<String, Failure> {
    let text = fs::read_to_string("/proc/sys/kernel/random/uuid");
    text.map(|text| text.chars().take(8).collect()).map_err(|error| BootError::from(error).into())
}
