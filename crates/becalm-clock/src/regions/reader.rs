//! A reader of files of regions that may be damaged: each intact block is read, and losses are reported.

use core::fmt;
use std::vec::Vec;

use super::bytes::{u32_at, u64_at};
use super::crc::crc32;
use super::header::Header;
use super::record::{self, TimedRegion};
use super::{BLOCK, CLOSING, HEAD, MAGIC, MOST};

/// The records of one flush.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The writer's number for the thread.
    pub thread: u64,
    /// The number of records in the file before this block.
    pub first: u64,
    /// The number of records that the ring dropped since its last flush.
    pub dropped: u64,
    /// The ring dropped its oldest records; otherwise it dropped new ones.
    pub keeps_last: bool,
    /// The records, in the order in which they were timed.
    pub records: Vec<TimedRegion>,
}

/// The block that a program writes when it closes the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// The number of blocks in the file.
    pub blocks: u32,
    /// The counter at the moment of closing.
    pub ticks: u64,
    /// The moment of closing in ns of Unix time.
    pub unix_ns: u64,
    /// The number of records in the file.
    pub records: u64,
}

/// A defect of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The file does not begin with an intact header of this version.
    Header,
    /// Bytes that are not part of an intact block: their offset and their number.
    Damaged(usize, usize),
    /// The program did not close the file, or its end is missing.
    NotClosed,
    /// The number of records known to be lost in damaged bytes.
    Lost(u64),
}

impl fmt::Display for Flaw {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Header => to.write_str("the header at the beginning is damaged or of another version"),
            Flaw::Damaged(at, many) => write!(to, "{many} bytes from byte {at} on are damaged"),
            Flaw::NotClosed => to.write_str("the file was not closed, or is cut off"),
            Flaw::Lost(many) => write!(to, "{many} regions are lost with what is damaged"),
        }
    }
}

/// The readable content of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The header at the beginning, or else the one at the end; without one, records have neither names nor a
    /// unit.
    pub header: Option<Header>,
    /// The intact blocks, in order.
    pub blocks: Vec<Block>,
    /// The closing; None if it is missing.
    pub closing: Option<Closing>,
    /// The defects; empty for an intact file.
    pub flaws: Vec<Flaw>,
}

impl Found {
    /// Return the records of all blocks.
    pub fn records(&self) -> impl Iterator<Item = &TimedRegion> {
        self.blocks.iter().flat_map(|block| &block.records)
    }

    /// Return the number of records that rings dropped.
    pub fn dropped(&self) -> u64 {
        self.blocks.iter().fold(0, |all, block| all.saturating_add(block.dropped))
    }

    /// Return the length of a region in ns; None without a header.
    pub fn ns(&self, region: &TimedRegion) -> Option<f64> {
        self.header.as_ref().map(|header| region.ticks as f64 * 1e9 / header.hz)
    }
}

/// Parse the bytes of a file. No content is an error: each defect becomes a [`Flaw`].
pub fn read(bytes: &[u8]) -> Found {
    let mut found = Found::default();
    let mut at = match Header::read(bytes) {
        Some((header, length)) => {
            found.header = Some(header);
            length
        }
        None => {
            found.flaws.push(Flaw::Header);
            found.header = last_header(bytes);
            0
        }
    };
    let mut damaged: Option<usize> = None;
    let mut long = 0;
    let end = |damaged: &mut Option<usize>, at: usize, flaws: &mut Vec<Flaw>| {
        if let Some(from) = damaged.take() {
            flaws.push(Flaw::Damaged(from, at - from));
        }
    };
    while at < bytes.len() {
        if let Some((block, length)) = block(&bytes[at..], |length| affords(&mut long, length, at)) {
            end(&mut damaged, at, &mut found.flaws);
            found.blocks.push(block);
            at += length;
        } else if let Some(closing) = closing(&bytes[at..]) {
            end(&mut damaged, at, &mut found.flaws);
            found.closing = Some(closing);
            at += HEAD;
        } else if let Some((_, length)) = found.closing.and_then(|_| Header::read(&bytes[at..])) {
            end(&mut damaged, at, &mut found.flaws);
            at += length;
        } else {
            damaged.get_or_insert(at);
            at += 1 + next_mark(&bytes[at + 1..]);
        }
    }
    end(&mut damaged, at, &mut found.flaws);
    if found.closing.is_none() {
        found.flaws.push(Flaw::NotClosed);
    }
    let read = found.records().count() as u64;
    let last = found.blocks.last().map_or(0, |block| block.first.saturating_add(block.records.len() as u64));
    let lost = found.closing.map_or(last, |closing| closing.records).saturating_sub(read);
    if lost > 0 {
        found.flaws.push(Flaw::Lost(lost));
    }
    found
}

/// The length of a block, in bytes, that no known writer exceeds.
const USUAL: usize = 1 << 16;
/// Bytes of longer blocks whose checksums are computed in any case, in addition to four times the bytes
/// passed.
const IN_VAIN: usize = 64 << 20;

/// Return whether to compute the checksum of a block of this length. Blocks as writers write them are always
/// checked; of longer ones, which may be nested in a forged file, only so many that the time stays linear in
/// the length of the file.
fn affords(long: &mut usize, length: usize, passed: usize) -> bool {
    if length <= USUAL {
        return true;
    }
    *long = long.saturating_add(length);
    *long <= passed.saturating_mul(4).saturating_add(IN_VAIN)
}

/// Parse the block at the beginning of these bytes, and return it with its length. `affords` decides from the
/// length whether its checksum is computed.
fn block(bytes: &[u8], affords: impl FnOnce(usize) -> bool) -> Option<(Block, usize)> {
    let (many, values) = head(bytes, BLOCK)?;
    let many = usize::try_from(many).ok().filter(|many| *many <= MOST)?;
    let length = HEAD + many * record::BYTES;
    let own = bytes.get(HEAD..length)?;
    if !affords(length) || u32_at(bytes, 36)? != crc32(own) {
        return None;
    }
    let records = own.chunks_exact(record::BYTES).map(TimedRegion::read).collect::<Option<Vec<_>>>()?;
    let [thread, first, dropped] = values;
    Some((Block { thread, first, dropped, keeps_last: u32_at(bytes, 32)? == 1, records }, length))
}

fn closing(bytes: &[u8]) -> Option<Closing> {
    let (blocks, [ticks, unix_ns, records]) = head(bytes, CLOSING)?;
    Some(Closing { blocks, ticks, unix_ns, records })
}

/// Parse an intact head with these first bytes, and return its count and its three values.
fn head(bytes: &[u8], magic: [u8; 4]) -> Option<(u32, [u64; 3])> {
    let own = bytes.get(..HEAD).filter(|own| own.starts_with(&magic))?;
    if u32_at(own, HEAD - 4)? != crc32(&own[..HEAD - 4]) {
        return None;
    }
    Some((u32_at(own, 4)?, [u64_at(own, 8)?, u64_at(own, 16)?, u64_at(own, 24)?]))
}

/// Return the number of bytes before the next block, closing or header; all bytes if there is none.
fn next_mark(bytes: &[u8]) -> usize {
    let marks = |at: &usize| {
        let rest = &bytes[*at..];
        rest.starts_with(&BLOCK) || rest.starts_with(&CLOSING) || rest.starts_with(&MAGIC)
    };
    (0..bytes.len()).find(marks).unwrap_or(bytes.len())
}

/// Return the header that begins at the last occurrence of its first bytes.
fn last_header(bytes: &[u8]) -> Option<Header> {
    let from = bytes.windows(MAGIC.len()).rposition(|each| each == MAGIC)?;
    Header::read(&bytes[from..]).map(|(header, _)| header)
}
