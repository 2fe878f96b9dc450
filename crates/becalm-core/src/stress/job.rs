//! One process of a load, and the reasons why it cannot be created.

use super::board::Slot;

/// The reason why load cannot be generated: a sentence.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LoadError {
    /// The demand is not meaningful.
    #[error("{0}")]
    Usage(String),
    /// The machine cannot, or may not, generate it now.
    #[error("{0}")]
    Machine(String),
}

impl LoadError {
    /// Return the kind of error, one of those in docs/reference/protocol.md.
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
    /// The bytes that the process and its group may have in memory.
    pub limit_bytes: Option<u64>,
    pub work: Work,
}
