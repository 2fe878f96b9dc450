//! One process of a load, and why it cannot be made.

use super::board::Slot;

/// Why load cannot be made: a sentence.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LoadError {
    /// The demand cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The machine cannot, or may not, make it now.
    #[error("{0}")]
    Machine(String),
}

impl LoadError {
    /// The kind of error as docs/reference/protocol.md lists them.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Machine(_) => "system",
        }
    }
}

/// The work of one process. It reports on its slot when the load is up, and returns only with an error.
pub type Work = Box<dyn FnOnce(&Slot) -> LoadError>;

/// One process of the load.
pub struct Job {
    pub kind: &'static str,
    /// The amount requested of this process, in the kind's unit; None: as much as it can.
    pub asked: Option<f64>,
    /// Bytes that the process and its group may have in memory.
    pub limit_bytes: Option<u64>,
    pub work: Work,
}
