//! A writer that stores rings in a file, in self-contained blocks.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::vec::Vec;

use super::crc::crc32;
use super::header::{moment, Header};
use super::record::{self, TimedRegion};
use super::{place, BLOCK, CLOSING, HEAD};
use crate::portable;
use crate::ring::{Full, Ring};
use crate::Clock;

/// The largest number of records that a block is written with.
const MANY: usize = 1_024;

/// A file of regions that is being written. Records not flushed before the program ends are lost.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    clock: Clock,
    header: Vec<u8>,
    blocks: u32,
    records: u64,
    buffer: Vec<u8>,
}

impl Writer {
    /// Create a file that only the user can read (mode 0600), with the names of regions by their number in
    /// records.
    ///
    /// In the path `%p` stands for the process id, `%r` for the rank in a parallel program and `%h` for the
    /// host. An existing file of regions is replaced, unless a process that runs at the same time has written
    /// it: this file then gets the process id in its name, and `path` returns the path.
    ///
    /// # Errors
    /// Fails with `AlreadyExists` if the file is not one of regions, which is left as it is; with
    /// `InvalidInput` if the names are too long; and with errors of the file system.
    pub fn create(path: impl AsRef<Path>, clock: &Clock, names: &[&str]) -> io::Result<Writer> {
        let path = place::expanded(path.as_ref());
        let header = Header::of(clock, names).bytes().ok_or_else(|| {
            Error::new(ErrorKind::InvalidInput, "the names are too long: 65,535 bytes for one, a MiB for all")
        })?;
        // In this order: whatever comes in between, the clock seems older, and no file of its time is replaced.
        let now = SystemTime::now();
        let age = Duration::from_nanos(portable::now_ns().saturating_sub(clock.opened_ns()));
        let (mut file, path) = place::created(&path, now - age)?;
        file.write_all(&header)?;
        let buffer = Vec::with_capacity(HEAD + MANY * record::BYTES);
        Ok(Writer { file, path, clock: *clock, header, blocks: 0, records: 0, buffer })
    }

    /// Return the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Write the records of a ring with the caller's number of its thread, and clear the ring. Do not call it
    /// within a timed region.
    ///
    /// # Errors
    /// Fails with errors of the file system.
    pub fn flush(&mut self, ring: &mut Ring, thread: u64) -> io::Result<()> {
        let keeps_last = ring.full() == Full::DropOldest;
        let mut dropped = ring.dropped();
        let info = *self.clock.info();
        let mut records =
            ring.records().map(|each| TimedRegion::of(each, info.source, info.smallest_cost)).peekable();
        // A ring without memory writes a block without records, for the number of dropped ones.
        while records.peek().is_some() || dropped > 0 {
            self.buffer.clear();
            self.buffer.resize(HEAD, 0);
            let mut many = 0;
            for each in records.by_ref().take(MANY) {
                each.put(&mut self.buffer);
                many += 1;
            }
            let sum = crc32(&self.buffer[HEAD..]);
            fill(&mut self.buffer, BLOCK, many, [thread, self.records, dropped], u32::from(keeps_last), sum);
            self.file.write_all(&self.buffer)?;
            self.blocks = self.blocks.wrapping_add(1);
            self.records += u64::from(many);
            dropped = 0;
        }
        drop(records);
        ring.clear();
        Ok(())
    }

    /// Write the closing and the header once more. A file without them is readable, and recognised as cut
    /// off.
    ///
    /// # Errors
    /// Fails with errors of the file system.
    pub fn close(mut self) -> io::Result<()> {
        let (ticks, unix_ns) = moment(&self.clock);
        self.buffer.clear();
        self.buffer.resize(HEAD, 0);
        fill(&mut self.buffer, CLOSING, self.blocks, [ticks, unix_ns, self.records], 0, 0);
        self.buffer.extend_from_slice(&self.header);
        self.file.write_all(&self.buffer)
    }
}

/// Fill the first bytes with the head of a block or of the closing.
fn fill(buffer: &mut [u8], magic: [u8; 4], many: u32, values: [u64; 3], policy: u32, records: u32) {
    buffer[..4].copy_from_slice(&magic);
    buffer[4..8].copy_from_slice(&many.to_le_bytes());
    for (place, value) in buffer[8..32].chunks_exact_mut(8).zip(values) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    buffer[32..36].copy_from_slice(&policy.to_le_bytes());
    buffer[36..40].copy_from_slice(&records.to_le_bytes());
    let own = crc32(&buffer[..HEAD - 4]);
    buffer[HEAD - 4..HEAD].copy_from_slice(&own.to_le_bytes());
}
