//! The interface of a source, and the functions that make rows of samples.

use super::file::Buffer;
use super::layout::Record;
use super::snapshot::Snapshot;

/// Reads raw numbers of the machine. What cannot be read is missing with a reason, never zero.
pub trait Source: Send {
    /// Read once. The buffer is anybody's between two reads.
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>);
}

/// Makes a row of numbers of a sample, the same columns each time; the first is the time of reading
/// (CLOCK_MONOTONIC_RAW, ns). It runs on the sampler's thread and must not allocate once warm.
pub trait Rows: Send {
    /// The row of this sample.
    fn row(&mut self, snapshot: &Snapshot) -> &[u64];
}
