//! The interface of a program: it produces `Step`s as it goes on. `micro` has the table of programs.

use super::hierarchy::Kind;

/// One step of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An access to a virtual address, after this number of cycles of work.
    Access { address: u64, size: u8, kind: Kind, work: u16 },
    /// A number of cycles without memory accesses.
    Work(u32),
    /// A mark with this number.
    Mark(u32),
    /// Memory that the program frees.
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

/// A program in progress.
pub trait Program: std::fmt::Debug {
    /// Append the next few hundred steps; return false if the program has ended.
    ///
    /// # Errors
    /// Returns a sentence if a trace cannot be read.
    fn fill(&mut self, steps: &mut Vec<Step>, now_ns: u64) -> Result<bool, String>;
}

/// The number of steps that are produced at once.
pub const BATCH: u64 = 256;
