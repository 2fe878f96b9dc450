//! The evidence that a probe of an ability examines, and its possible results.

use serde_json::Value;

use crate::facts::read::Machine;

/// The evidence for the probes: the facts collected before, and the files.
pub struct Evidence<'a> {
    pub machine: &'a Machine,
    pub facts: &'a Value,
}

/// The result of a probe. The text is the reason.
pub enum Found {
    Have,
    Lacks(String),
    /// It lacks, and the row's remedy does not help; this one does, or none (empty).
    Barred(String, &'static str),
    Unknown(String),
}

impl Evidence<'_> {
    /// Return a fact, or the reason why it is missing.
    pub fn fact(&self, subject: &str, name: &str) -> Result<&Value, String> {
        let subject = &self.facts[subject];
        match &subject[name] {
            Value::Null => Err(subject["missing"][name].as_str().unwrap_or("it is not known").to_owned()),
            value => Ok(value),
        }
    }

    /// Return whether this process has the capability; also true if that cannot be found out.
    pub fn capable(&self, name: &str) -> bool {
        self.facts["privileges"]["capabilities"]
            .as_array()
            .is_none_or(|names| names.iter().any(|each| each == name))
    }

    pub fn is_guest(&self) -> bool {
        self.facts["virtualisation"]["guest"] == true
    }

    pub fn in_container(&self) -> bool {
        !self.facts["virtualisation"]["container"].is_null()
    }

    /// Return `Have` if the file may be written.
    pub fn writable(&self, path: &str) -> Found {
        match self.machine.writable(path) {
            Ok(()) => Found::Have,
            Err(reason) if self.in_container() => Found::Barred(reason, OUTSIDE_CONTAINER),
            Err(reason) => Found::Lacks(reason),
        }
    }
}

/// The remedy if only the host of a container can decide.
pub const OUTSIDE_CONTAINER: &str =
    "measure outside the container; inside, only the container's owner can allow it";

/// The remedy if only the hardware's owner has the setting.
pub const BARE_METAL: &str = "only the hypervisor's operator can; here, compare in pairs";
