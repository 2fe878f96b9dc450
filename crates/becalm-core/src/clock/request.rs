//! The request for an evaluation, the reports, and the reasons why there is none.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::filter::Filter;
use super::trust::Trust;

/// The request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The time for everything.
    pub budget_ns: u64,
    /// The processor that measures; None: the last one that this process may use.
    #[serde(default)]
    pub cpu: Option<u32>,
    /// The filter: "robust", "forest" or "none".
    pub filter: String,
    /// The search: "grid" or "published".
    pub search: String,
    /// The seed of the order of measurements and the forest.
    pub seed: u64,
    /// The names of timers; none: all.
    #[serde(default)]
    pub timers: Vec<String>,
    /// The names of flushes; none: all.
    #[serde(default)]
    pub flushes: Vec<String>,
    /// The cells that are known already: a timer and a flush.
    #[serde(default)]
    pub done: Vec<(String, String)>,
    /// The reason why the program that loads PAPI could not do so; a program that loads nothing reports it for its
    /// timers.
    #[serde(default)]
    pub no_papi: Option<String>,
}

/// A report of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The statement of trust, once and first.
    Trust {
        /// The properties that can be trusted.
        trust: Box<Trust>,
        /// The reasons for doubt.
        doubts: Vec<&'static str>,
    },
    /// A timer that cannot be used, a flush that is left out, or one cell of both, which may be tried again.
    Absent {
        /// The timer.
        timer: Option<&'static str>,
        /// The flush.
        flush: Option<&'static str>,
        /// The reason.
        reason: String,
    },
    /// The number of cells that follow.
    Planned {
        /// The number of them.
        cells: usize,
    },
    /// One timer at one flush; a second time for one that was tried again.
    Cell(Box<Cell>),
    /// Cells without an answer are tried again with the time that is left.
    Again {
        /// The number of them.
        cells: usize,
    },
    /// The end.
    Done {
        /// The time that it took.
        elapsed_ns: u64,
    },
}

/// The reason why there is no evaluation.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The chain of additions does not take a cycle each.
    #[error(
        "A multiplication took {ratio:.2} additions, not 3.00 within 0.03: work of a known length cannot be made here \
         at the moment. Another load on the machine can cause that; try again."
    )]
    Chain {
        /// The time of a multiplication, in additions.
        ratio: f64,
    },
    /// The machine was suspended.
    #[error("The machine was suspended for {seconds:.0} s meanwhile: what was measured says nothing.")]
    Suspended {
        /// The length of the suspension.
        seconds: f64,
    },
    /// No clock runs.
    #[error("No clock of this machine runs forward: {0}.")]
    Clock(becalm_clock::Unusable),
    /// There is no such processor.
    #[error("Processor {cpu} cannot be used: {reason}.")]
    Cpu {
        /// Its number.
        cpu: u32,
        /// The reason.
        reason: String,
    },
    /// A name in the request is not known.
    #[error("{what} is not a {kind}; there are: {known}.")]
    Unknown {
        /// The name.
        what: String,
        /// The kind of name.
        kind: &'static str,
        /// The known names.
        known: String,
    },
    /// The reader of the reports is gone.
    #[error("The result cannot be sent: {0}.")]
    NotSent(#[from] std::io::Error),
}

impl Request {
    /// Return the filter for the operating system's share.
    pub(super) fn filter(&self) -> Result<Filter, Refused> {
        match self.filter.as_str() {
            "robust" => Ok(Filter::Robust),
            "forest" => Ok(Filter::Forest { seed: self.seed }),
            "none" => Ok(Filter::None),
            other => Err(unknown(other, "filter", &["robust", "forest", "none"])),
        }
    }

    /// Return whether the search is the published one.
    pub(super) fn published(&self) -> Result<bool, Refused> {
        match self.search.as_str() {
            "grid" => Ok(false),
            "published" => Ok(true),
            other => Err(unknown(other, "search", &["grid", "published"])),
        }
    }
}

/// Return the named rows; all of them without names.
pub(super) fn named<T>(
    rows: Vec<T>,
    name: fn(&T) -> &'static str,
    words: &[String],
    kind: &'static str,
) -> Result<Vec<T>, Refused> {
    let names: Vec<&str> = rows.iter().map(name).collect();
    match words.iter().find(|word| !names.contains(&word.as_str())) {
        Some(word) => Err(unknown(word, kind, &names)),
        None => Ok(rows
            .into_iter()
            .filter(|row| words.is_empty() || words.iter().any(|word| word == name(row)))
            .collect()),
    }
}

fn unknown(what: &str, kind: &'static str, names: &[&str]) -> Refused {
    Refused::Unknown { what: what.to_owned(), kind, known: names.join(", ") }
}
