//! The noun of what a task does: `Step`s, which a `Program` makes as it goes on. `micro` has the table of programs.

use super::hierarchy::Kind;

/// One step of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An access to a virtual address, after so many cycles of work.
    Access { address: u64, size: u8, kind: Kind, work: u16 },
    /// Cycles that touch no memory.
    Work(u32),
    /// A mark that the program sets, by its number.
    Mark(u32),
    /// Memory that it gives back.
    Free { address: u64, bytes: u64 },
}

impl Step {
    pub fn read(address: u64, work: u16) -> Self {
        Self::Access { address, size: 4, kind: Kind::Read, work }
    }

    pub fn write(address: u64, work: u16) -> Self {
        Self::Access { address, size: 4, kind: Kind::Write, work }
    }
}

/// A program that goes on.
pub trait Program: std::fmt::Debug {
    /// Append what it does next, some hundred steps; false: it has ended. Errors: a sentence.
    fn fill(&mut self, steps: &mut Vec<Step>, now_ns: u64) -> Result<bool, String>;
}

/// Steps that are made at once.
pub const BATCH: u64 = 256;
