//! The fields of a row of the table of knobs: scope, group, domain, way of acting.

use std::fmt::Debug;

use serde::{Serialize, Serializer};

use super::cpus::Cpus;
use super::domain::Domain;
use super::draft::Draft;
use super::process::ProcessSettings;
use super::proof::{Evidence, Taken};
use super::tree::Tree;

/// Where a knob acts: on one process, on the running machine, or at its next boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Process,
    Live,
    Boot,
}

/// The way in which a search treats a knob; `Dangerous` ones are set only with consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Essential,
    Isolation,
    Normal,
    Dangerous,
}

/// The values that an ordinary user may not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Privileged {
    None,
    All,
    /// Numbers below this one.
    Below(i64),
    /// These classes, whatever their level.
    Classes(&'static [&'static str]),
}

/// Major and minor number of a kernel.
pub type Version = (u32, u32);

/// A way of acting: one file below `knob::catalogue` each. It holds what distinguishes knobs that act in the same way (paths,
/// spellings) as data; paths are those of the running machine and begin at the root the agent was given.
pub trait Act: Debug + Sync {
    /// The present value of the knob, empty where it has none, or why this machine does not have it.
    fn state(&self, _tree: &Tree, _knob: &Knob) -> Result<String, String> {
        Ok(String::new())
    }

    /// Add the writes that a value of the domain means on this machine.
    fn resolve(&self, _draft: &mut Draft, _knob: &'static Knob, _value: &str) -> Result<(), String> {
        Ok(())
    }

    /// Apply a value to the program itself, for knobs of scope `process`; None: it is not in the domain.
    fn on_process(&self, _settings: &mut ProcessSettings, _knob: &'static Knob, _value: &str) -> Option<()> {
        Some(())
    }

    /// The CPUs that a value keeps for the program alone.
    fn reserves(&self, _tree: &Tree, _value: &str) -> Option<Cpus> {
        None
    }

    /// The lowest and the highest number on this machine, where its domain is a range that the hardware narrows.
    fn limits(&self, _tree: &Tree) -> Option<(i64, i64)> {
        None
    }

    /// The value that a search for little variation tries on this machine; None: it is not a candidate.
    fn tuned(&self, _tree: &Tree, knob: &Knob) -> Option<&'static str> {
        knob.tuned_value
    }

    /// Return its word on the kernel's command line, for knobs of scope `boot`.
    fn boot(&self) -> Option<&Boot> {
        None
    }
}

/// A setting of the next boot.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Boot {
    /// Words of the kernel's command line; {} is the value. Fixed words switch off what is on without them.
    #[serde(rename = "parameters")]
    pub words: &'static [&'static str],
    /// Whether this machine could have it; Err says why not.
    #[serde(skip)]
    pub possible: fn(&Tree) -> Result<(), String>,
    /// Whether the kernel that runs has taken it: a word on the command line proves nothing.
    #[serde(skip)]
    pub proof: fn(&Evidence) -> Taken,
    /// The source of what is known about it, for the docs.
    pub known_from: &'static str,
    /// Nothing runs on its CPUs by itself, the program neither: it has to be bound to them.
    pub binds: bool,
}

/// One system parameter as plain data.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Knob {
    pub name: &'static str,
    pub scope: Scope,
    pub group: Group,
    pub domain: Domain,
    #[serde(rename = "boot", serialize_with = "boot_alone")]
    pub act: &'static dyn Act,
    /// The value that a search for little variation tries where the machine says nothing else (`Act::tuned`); None: it is
    /// not a candidate.
    pub tuned_value: Option<&'static str>,
    /// Settings are applied in this order and restored in the opposite one.
    pub order: u8,
    /// Knobs without which this one has no meaning.
    pub requires: &'static [&'static str],
    /// Knobs that take this one's place: a search leaves it out next to them.
    pub conflicts: &'static [&'static str],
    /// Files that the kernel changes with it, and that are restored with it; `*` stands for any name (`moved`).
    pub moves: &'static [&'static str],
    /// It keeps programs on fewer CPUs than the machine has.
    pub restricts_cpus: bool,
    /// Why it matters for run times.
    pub rationale: &'static str,
    /// Its cost while it is on.
    pub costs: &'static str,
    /// The rights that it needs beyond those of an ordinary user, in words.
    pub privilege: &'static str,
    /// For which values it takes that.
    pub privileged: Privileged,
    /// The meaning of its absence on a machine.
    pub absent: &'static str,
    /// Kernels that have it: from the first version, and before the second; None: no such bound.
    #[serde(skip)]
    pub kernels: (Option<Version>, Option<Version>),
    /// A host with which it is in reach where this machine does not have it; empty: none is known.
    pub elsewhere: &'static str,
    /// Where it is documented.
    pub source: &'static str,
}

impl Knob {
    /// Whether an ordinary user may not set this value.
    pub fn needs_rights(&self, value: &str) -> bool {
        match self.privileged {
            Privileged::None => false,
            Privileged::All => true,
            Privileged::Below(bound) => value.parse::<i64>().is_ok_and(|number| number < bound),
            Privileged::Classes(classes) => classes.contains(&value.split(':').next().unwrap_or_default()),
        }
    }

    /// Return its value on this machine, empty where it has no value of its own there, or why the machine does not have
    /// it.
    pub fn state(&self, tree: &Tree) -> Result<String, String> {
        self.act.state(tree, self).map_err(|reason| match self.elsewhere {
            "" => reason,
            host => format!("{reason}; in reach on --host {host}"),
        })
    }
}

/// Serialise only what concerns the next boot; the rest of the way of acting is the agent's own affair.
fn boot_alone<S: Serializer>(act: &&'static dyn Act, serializer: S) -> Result<S::Ok, S::Error> {
    act.boot().serialize(serializer)
}

/// The spelling of values in a file: pairs of a value and its spelling; values without one are written as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form(pub &'static [(&'static str, &'static str)]);

impl Form {
    /// The value as the file takes it.
    pub fn spelled(&self, value: &str) -> String {
        let found = self.0.iter().find(|(name, _)| *name == value);
        found.map_or(value, |(_, spelling)| spelling).to_owned()
    }

    /// Return the content of the file as a value of the knob.
    pub fn read(&self, held: &str) -> String {
        let found = self.0.iter().find(|(_, spelling)| *spelling == held);
        found.map_or(held, |(name, _)| name).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_read_as_it_is_written() {
        let form = Form(&[("on", "0"), ("off", "1")]);
        for value in ["on", "off"] {
            assert_eq!(form.read(&form.spelled(value)), value);
        }
        assert_eq!(form.read("7"), "7", "what is neither is shown as it is");
    }
}
