//! The fields of a row of the table of knobs: scope, group, domain, way of acting.

use std::fmt::Debug;

use serde::{Serialize, Serializer};

use super::cpus::Cpus;
use super::domain::Domain;
use super::draft::Draft;
use super::process::ProcessSettings;
use super::proof::{Evidence, Finding};
use super::tree::Tree;

/// The place where a knob acts: one process, the running machine, or its next boot.
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

/// The major and minor number of a kernel.
pub type Version = (u32, u32);

/// A kind of knob: one file below `knob::catalogue` each. It holds what distinguishes knobs of the kind
/// (paths, spellings) as data; paths are those of the running machine and begin at the root that the agent
/// was given.
pub trait Act: Debug + Sync {
    /// Return the present value of the knob, empty if it has none, or why this machine does not have it.
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

    /// Return the CPUs that a value reserves for the program.
    fn reserves(&self, _tree: &Tree, _value: &str) -> Option<Cpus> {
        None
    }

    /// Return the lowest and the highest number on this machine, if its domain is a range that the hardware
    /// narrows.
    fn limits(&self, _tree: &Tree) -> Option<(i64, i64)> {
        None
    }

    /// Return the value that a search for little variation tries on this machine; None: it is not a
    /// candidate.
    fn tuned(&self, _tree: &Tree, knob: &Knob) -> Option<&'static str> {
        knob.tuned_value
    }

    /// Return its words on the kernel's command line, for knobs of scope `boot`.
    fn boot(&self) -> Option<&Boot> {
        None
    }
}

/// A setting of the next boot.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Boot {
    /// Words of the kernel's command line; {} is the value. Fixed words switch off a feature that is on
    /// without them.
    #[serde(rename = "parameters")]
    pub words: &'static [&'static str],
    /// Check that this machine could have it; an error is the reason why not.
    #[serde(skip)]
    pub possible: fn(&Tree) -> Result<(), String>,
    /// Find out whether the running kernel uses it: a word on the command line proves nothing.
    #[serde(skip)]
    pub proof: fn(&Evidence) -> Finding,
    /// The source of what is known about it, for the docs.
    pub known_from: &'static str,
    /// Whether nothing runs on its CPUs by itself, not even the program, which has to be bound to them.
    pub binds: bool,
}

/// One system parameter, as plain data.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Knob {
    pub name: &'static str,
    pub scope: Scope,
    pub group: Group,
    pub domain: Domain,
    #[serde(rename = "boot", serialize_with = "boot_alone")]
    pub act: &'static dyn Act,
    /// The value that a search for little variation tries unless the machine suggests another (`Act::tuned`);
    /// None: it is not a candidate.
    pub tuned_value: Option<&'static str>,
    /// Settings are applied in this order and restored in the opposite one.
    pub order: u8,
    /// The knobs without which this one has no meaning.
    pub requires: &'static [&'static str],
    /// The knobs that replace this one: a search leaves it out next to them.
    pub conflicts: &'static [&'static str],
    /// Files that the kernel changes with it, and that are restored with it; `*` stands for any name (`moved`).
    pub moves: &'static [&'static str],
    /// Whether it restricts programs to fewer CPUs than the machine has.
    pub restricts_cpus: bool,
    /// The reason why it matters for run times.
    pub rationale: &'static str,
    /// Its cost while it is on.
    pub costs: &'static str,
    /// The rights that it needs beyond those of an ordinary user.
    pub privilege: &'static str,
    /// The values that need these rights.
    pub privileged: Privileged,
    /// The meaning of its absence on a machine.
    pub absent: &'static str,
    /// The kernels that have it: from the first version, and before the second; None: no such bound.
    #[serde(skip)]
    pub kernels: (Option<Version>, Option<Version>),
    /// A host that has it, if this machine does not; empty: none is known.
    pub elsewhere: &'static str,
    /// The place where it is documented.
    pub source: &'static str,
}

impl Knob {
    /// Return whether an ordinary user may not set this value.
    pub fn needs_rights(&self, value: &str) -> bool {
        match self.privileged {
            Privileged::None => false,
            Privileged::All => true,
            Privileged::Below(bound) => value.parse::<i64>().is_ok_and(|number| number < bound),
            Privileged::Classes(classes) => classes.contains(&value.split(':').next().unwrap_or_default()),
        }
    }

    /// Return its value on this machine, empty if it has no value of its own there, or why the machine does
    /// not have it.
    pub fn state(&self, tree: &Tree) -> Result<String, String> {
        self.act.state(tree, self).map_err(|reason| match self.elsewhere {
            "" => reason,
            host => format!("{reason}; in reach on --host {host}"),
        })
    }
}

/// Serialise only the data on the next boot; the rest is internal to the agent.
fn boot_alone<S: Serializer>(act: &&'static dyn Act, serializer: S) -> Result<S::Ok, S::Error> {
    act.boot().serialize(serializer)
}

/// The spelling of values in a file: pairs of a value and its spelling; values without one are written as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form(pub &'static [(&'static str, &'static str)]);

impl Form {
    /// Return the value in the file's spelling.
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
