//! Built-in kernels: small programs with a known pressure on shared caches and memory, and a known
//! sensitivity to that of others. `table` lists them, a file each; `given` is the request for one, `room` the
//! available memory, and `marks` report when the next piece of their work begins.
//!
//! Each does a fixed amount of work on memory that was touched beforehand, and returns a checksum that depends on all
//! of it, so that no compiler leaves any of it out. The agent runs one as `/proc/self/exe kernel NAME`.

use std::time::Instant;

use serde::Serialize;

mod branchy;
mod change;
mod chase;
mod cpuburner;
mod float;
mod gather;
pub mod given;
pub mod marks;
mod matrixmult;
mod memeater;
mod phases;
pub mod room;
mod stride;
pub mod table;
mod triad;

pub use given::Given;

/// The bytes of a cache line on every processor that this runs on, or a part of it.
pub const LINE: usize = 64;

/// The unit of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Bytes,
    Count,
    /// Nanoseconds.
    Time,
    /// 1 for on.
    Switch,
    /// A path, which is not a number.
    File,
}

/// The default of a parameter: a number, or a part of the last-level cache, `times`/`parts` of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    Number(u64),
    Cache { times: u64, parts: u64 },
}

impl Serialize for Usual {
    /// Serialise as text, for documents.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = match self {
            Usual::Number(number) => number.to_string(),
            Usual::Cache { times: 1, parts: 1 } => "the last-level cache".to_owned(),
            Usual::Cache { times, parts: 1 } => format!("{times} times the last-level cache"),
            Usual::Cache { times, parts } => format!("{times}/{parts} of the last-level cache"),
        };
        serializer.serialize_str(&words)
    }
}

/// One parameter of a kernel; `least` is its smallest value.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub unit: Unit,
    pub least: u64,
    pub usual: Usual,
    pub meaning: &'static str,
}

/// Return a parameter for a number of bytes, by default a part of the last-level cache.
const fn size(times: u64, parts: u64, meaning: &'static str) -> Parameter {
    Parameter { name: "size", unit: Unit::Bytes, least: 4096, usual: Usual::Cache { times, parts }, meaning }
}

/// Return the parameter for the amount of work in a run.
const fn work(usual: u64, meaning: &'static str) -> Parameter {
    count("work", usual, meaning)
}

const fn count(name: &'static str, usual: u64, meaning: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Count, least: 1, usual: Usual::Number(usual), meaning }
}

const ENDLESS: Parameter = Parameter {
    name: "endless",
    unit: Unit::Switch,
    least: 0,
    usual: Usual::Number(0),
    meaning: "run until it is ended",
};

const MARKS: Parameter = Parameter {
    name: "marks",
    unit: Unit::File,
    least: 0,
    usual: Usual::Number(0),
    meaning: "file for the marks, in place of standard error",
};

/// One kernel. `pressure` and `sensitivity` are ranks among the rows, from 0 for none to 5, on one chip: how
/// much it uses of shared resources, and how much it loses when others use them; `why` explains them.
#[derive(Debug, Serialize)]
pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub pressure: u8,
    pub sensitivity: u8,
    pub why: &'static str,
    pub parameters: &'static [Parameter],
    /// Return the bytes of memory that it touches.
    #[serde(skip)]
    pub memory: fn(&Given) -> u64,
    #[serde(skip)]
    pub run: fn(&Given) -> Done,
}

/// The result of a kernel: the `work` that was requested, the value that it computed, and its time without
/// preparing memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    pub work: u64,
    pub checksum: u64,
    pub work_ns: u128,
}

/// Run the measured part, `work` of it, which returns a checksum.
fn measured(work: u64, body: impl FnOnce() -> u64) -> Done {
    let begun = Instant::now();
    let checksum = std::hint::black_box(body());
    Done { work, checksum, work_ns: begun.elapsed().as_nanos() }
}

/// Return the memory of kernels that touch what their parameter `size` names.
fn of_size(given: &Given) -> u64 {
    given.number("size")
}
