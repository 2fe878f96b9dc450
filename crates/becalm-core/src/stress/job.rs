//! One process of a load, and why it cannot be made.

use super::board::Slot;

/// Why load cannot be made: a sentence.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct LoadError(pub String);

/// What one process does. It says on its slot when the load is up, and returns only with an error.
pub type Work = Box<dyn FnOnce(&Slot) -> LoadError>;

/// One process of the load.
pub struct Job {
    pub kind: &'static str,
    /// How much was asked of this process, in the kind's unit; None: as much as it can.
    pub asked: Option<f64>,
    /// Bytes that the process and its group may have in memory.
    pub limit_bytes: Option<u64>,
    pub work: Work,
}
