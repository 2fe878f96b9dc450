//! The activity of other processes in an interval, as `others` reports it: CPU time, moved bytes and growth.

use super::traffic::Traffic;

/// The largest number of entries that a reading reports; the others are one sum.
pub const NAMED: usize = 24;

/// A process, or the ended ones of one name, and their CPU time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// Its number; None for processes that have ended.
    pub pid: Option<u32>,
    pub name: String,
    /// Its control group; empty for the root, and if it is not known.
    pub group: String,
    pub cpu_ns: u64,
    /// The number of processes.
    pub count: u64,
}

/// A process that moved bytes from or to storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mover {
    pub pid: u32,
    pub name: String,
    pub group: String,
    pub traffic: Traffic,
}

/// The memory that a process holds more than before, negative where less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryChange {
    pub pid: u32,
    pub name: String,
    pub group: String,
    pub bytes: i64,
}

/// The CPU time, the traffic and the growth of all others in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interval {
    /// The reported processes, the largest first.
    pub consumers: Vec<Consumer>,
    /// The CPU time of all other processes together.
    pub rest_ns: u64,
    /// The CPU time of the processes that may use none of the given CPUs.
    pub elsewhere_ns: u64,
    /// The processes that moved most bytes, the largest first.
    pub movers: Vec<Mover>,
    /// The number of processes that ran and whose traffic may not be read.
    pub unread: u64,
    /// The processes whose memory changed most, the largest change first.
    pub memory_changes: Vec<MemoryChange>,
}
