//! The timers that are evaluated, one row each in `table` (`row`: the form of a row); `loaded` are those of a
//! library, `measure` the loop around them.

pub mod loaded;
pub mod measure;
pub mod row;
pub mod table;

use becalm_clock::Stamp;

/// A timer: a read before the work and one after it.
pub trait Timer {
    /// Read the clock before the work.
    fn begin(&self) -> Stamp;
    /// Read the clock after it.
    fn end(&self) -> Stamp;
}

/// The unit of a timer's reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Ticks of the processor's wall clock.
    Ticks,
    /// Nanoseconds.
    Nanoseconds,
    /// Cycles of the core.
    Cycles,
    /// Counts of the user's own.
    Own {
        /// Events per second.
        hz: u64,
    },
}

/// A timer in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Description {
    /// The name in the tables.
    pub name: &'static str,
    /// The unit of its reads.
    pub unit: Unit,
    /// The timer's description.
    pub meaning: &'static str,
}
