//! Rings to a file, in blocks that each stand for themselves.

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

/// Records of a block; a power cut costs at most the last one.
const MANY: usize = 1_024;

/// A file of regions that is being written. What is not flushed when the program ends is not in it.
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
    /// A new file, for nobody else's eyes (mode 0600), with the names that the rings' records have by number.
    ///
    /// In the path `%p` is the number of the process, `%r` its rank in a parallel program and `%h` the host. A file of regions
    /// that is there is replaced, unless a process that runs at the same time has written it: this one is then made beside it
    /// with the number of the process in its name, which `path` tells. A file of anything else is an error, and left as it is.
    pub fn create(path: impl AsRef<Path>, clock: &Clock, names: &[&str]) -> io::Result<Writer> {
        let path = place::expanded(path.as_ref());
        let header = Header::of(clock, names).bytes().ok_or_else(|| {
            Error::new(ErrorKind::InvalidInput, "the names are too long: 65,535 bytes for one, a MiB for all")
        })?;
        let age = Duration::from_nanos(portable::now_ns().saturating_sub(clock.opened_ns()));
        let (mut file, path) = place::created(&path, SystemTime::now() - age)?;
        file.write_all(&header)?;
        let buffer = Vec::with_capacity(HEAD + MANY * record::BYTES);
        Ok(Writer { file, path, clock: *clock, header, blocks: 0, records: 0, buffer })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Write what a ring holds, with the caller's number of its thread, and empty it. Not within a region.
    pub fn flush(&mut self, ring: &mut Ring, thread: u64) -> io::Result<()> {
        let keeps_last = ring.full() == Full::DropOldest;
        let mut dropped = ring.dropped();
        let info = *self.clock.info();
        let mut records =
            ring.records().map(|each| TimedRegion::of(each, info.source, info.smallest_cost)).peekable();
        // A ring that could keep nothing has a block without records, for the count of what was dropped.
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

    /// Write that it is whole. A file without that is readable, and known to be cut off.
    pub fn close(mut self) -> io::Result<()> {
        let (ticks, unix_ns) = moment(&self.clock);
        self.buffer.clear();
        self.buffer.resize(HEAD, 0);
        fill(&mut self.buffer, CLOSING, self.blocks, [ticks, unix_ns, self.records], 0, 0);
        self.buffer.extend_from_slice(&self.header);
        self.file.write_all(&self.buffer)
    }
}

/// The head of a block, or of what closes the file, into the first bytes.
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
