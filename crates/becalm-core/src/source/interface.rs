//! The interface of a source, and the functions that make rows of samples.

use super::file::Buffer;
use super::layout::Record;
use super::snapshot::Snapshot;

/// A reader of raw numbers of the machine. A value that cannot be read is missing with a reason, never zero.
pub trait Source: Send {
    /// Read once. The content of the buffer need not survive until the next read.
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>);
}

/// A function that turns samples into rows of numbers, with the same columns each time; the first column is
/// the time of reading (CLOCK_MONOTONIC_RAW, ns). It runs on the sampler's thread and must not allocate after
/// its first calls.
pub trait Rows: Send {
    /// Return the row of this sample.
    fn row(&mut self, snapshot: &Snapshot) -> &[u64];
}
