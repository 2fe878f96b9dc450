//! The facts of a machine and its abilities, as one JSON object: a file for each subject, and `abilities`
//! derived from all of them.
//!
//! In each subject an unknown value is null, never zero and never a default, and `missing` holds the reason
//! under the same name. Everything except a few system calls is read from files below a root, so that a
//! directory that looks like a machine (tests/data/hosts) has facts as well.

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

/// A function that reads one subject.
type Collect = fn(&Machine) -> Value;

/// The subjects in the order in which they are read. Load comes first, before reading is itself a load.
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

/// Read the facts of the machine whose root directory is `root`; system calls are made only for "/".
pub fn collect(root: &Path) -> Value {
    let machine = Machine::new(root);
    let read = |(name, subject): &(&str, Collect)| ((*name).to_owned(), subject(&machine));
    let mut facts = Value::Object(SUBJECTS.iter().map(read).collect::<Map<_, _>>());
    let abilities = abilities::collect(&machine, &facts);
    facts["abilities"] = abilities;
    facts
}
