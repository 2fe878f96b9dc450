//! The facts of a machine and its abilities, as one JSON object: a subject a file, and `abilities` drawn from all of
//! them.
//!
//! In each subject a value that is not known is null, never zero and never a default, and `missing` holds the reason
//! in words under the same name. Everything but a few system calls is read from files below a root, so that a
//! directory that looks like a machine (tests/data/hosts) gives its facts as well.

pub mod abilities;
pub(crate) mod caches;
mod cgroups;
pub(crate) mod clocks;
mod counters;
mod cpu;
mod frequency;
mod host;
mod interrupts;
mod kernel;
mod load;
pub(crate) mod memory;
mod privileges;
pub mod read;
mod scheduler;
mod security;
pub mod services;
mod system;
#[cfg(test)]
mod tests;
pub mod virtualisation;

use std::path::Path;

use serde_json::{Map, Value};

use read::Machine;

/// Reads one subject.
type Collect = fn(&Machine) -> Value;

/// Subjects in the order in which they are read. Load comes first, before reading is itself a load.
const SUBJECTS: &[(&str, Collect)] = &[
    ("load", load::collect),
    ("host", host::collect),
    ("kernel", kernel::collect),
    ("cpu", cpu::collect),
    ("caches", caches::collect),
    ("memory", memory::collect),
    ("clocks", clocks::collect),
    ("interrupts", interrupts::collect),
    ("counters", counters::collect),
    ("scheduler", scheduler::collect),
    ("privileges", privileges::collect),
    ("cgroups", cgroups::collect),
    ("security", security::collect),
    ("virtualisation", virtualisation::collect),
    ("services", services::collect),
];

/// Read the facts of the machine whose root directory is `root`; system calls are asked only for "/".
pub fn collect(root: &Path) -> Value {
    let machine = Machine::new(root);
    let read = |(name, subject): &(&str, Collect)| ((*name).to_owned(), subject(&machine));
    let mut facts = Value::Object(SUBJECTS.iter().map(read).collect::<Map<_, _>>());
    let abilities = abilities::collect(&machine, &facts);
    facts["abilities"] = abilities;
    facts
}
