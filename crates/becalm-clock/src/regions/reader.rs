//! What is in a file of regions, whatever happened to it: each whole block is read, and what is lost is said.

use core::fmt;
use std::vec::Vec;

use super::bytes::{u32_at, u64_at};
use super::crc::crc32;
use super::header::Header;
use super::record::{self, TimedRegion};
use super::{BLOCK, CLOSING, HEAD, MAGIC, MOST};

/// Records that were flushed together.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The writer's number of the thread.
    pub thread: u64,
    /// Records of the file before this block.
    pub first: u64,
    /// Records that the ring had no room for since its last flush.
    pub dropped: u64,
    /// What was dropped was the oldest; else what came last.
    pub keeps_last: bool,
    /// The records, in the order in which they were timed.
    pub records: Vec<TimedRegion>,
}

/// What the program wrote when it closed the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// Blocks of the file.
    pub blocks: u32,
    /// The counter when it was closed.
    pub ticks: u64,
    /// That moment in ns of Unix time.
    pub unix_ns: u64,
    /// Records of the file.
    pub records: u64,
}

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It does not begin with a header of this version that is whole.
    Header,
    /// Bytes that are no whole block: where they begin, and how many.
    Damaged(usize, usize),
    /// The program did not close it, or its end is missing.
    NotClosed,
    /// So many records are known to be lost with what is damaged.
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

/// All that could be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// That at the beginning, else that at the end; without one, records have neither names nor a unit.
    pub header: Option<Header>,
    /// The whole blocks, in order.
    pub blocks: Vec<Block>,
    /// Where the file was closed.
    pub closing: Option<Closing>,
    /// What is wrong with it, empty for a whole one.
    pub flaws: Vec<Flaw>,
}

impl Found {
    /// The records of all blocks.
    pub fn records(&self) -> impl Iterator<Item = &TimedRegion> {
        self.blocks.iter().flat_map(|block| &block.records)
    }

    /// Records that rings had no room for.
    pub fn dropped(&self) -> u64 {
        self.blocks.iter().fold(0, |all, block| all.saturating_add(block.dropped))
    }

    /// A region's length in ns; None without a header.
    pub fn ns(&self, region: &TimedRegion) -> Option<f64> {
        self.header.as_ref().map(|header| region.ticks as f64 * 1e9 / header.hz)
    }
}

/// Read the bytes of a file. Nothing in them is an error: what is not whole is a flaw.
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

/// Longer blocks come from no writer that is known.
const USUAL: usize = 1 << 16;
/// Bytes of such blocks that checksums are taken of, beyond four times what was passed.
const IN_VAIN: usize = 64 << 20;

/// Whether a checksum of so many bytes is worth its time: of what writers write it always is. Long blocks that lie in
/// each other, as nobody writes them, are not all looked at, so that the time grows with the file's length and no faster.
fn affords(long: &mut usize, length: usize, passed: usize) -> bool {
    if length <= USUAL {
        return true;
    }
    *long = long.saturating_add(length);
    *long <= passed.saturating_mul(4).saturating_add(IN_VAIN)
}

/// The block that bytes begin with, and its length. `affords`: whether so many bytes are looked at.
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

/// The numbers of a whole head of this kind.
fn head(bytes: &[u8], magic: [u8; 4]) -> Option<(u32, [u64; 3])> {
    let own = bytes.get(..HEAD).filter(|own| own.starts_with(&magic))?;
    if u32_at(own, HEAD - 4)? != crc32(&own[..HEAD - 4]) {
        return None;
    }
    Some((u32_at(own, 4)?, [u64_at(own, 8)?, u64_at(own, 16)?, u64_at(own, 24)?]))
}

/// Bytes before the next mark of anything; all of them where there is none.
fn next_mark(bytes: &[u8]) -> usize {
    let marks = |at: &usize| {
        let rest = &bytes[*at..];
        rest.starts_with(&BLOCK) || rest.starts_with(&CLOSING) || rest.starts_with(&MAGIC)
    };
    (0..bytes.len()).find(marks).unwrap_or(bytes.len())
}

/// The header at the end.
fn last_header(bytes: &[u8]) -> Option<Header> {
    let from = bytes.windows(MAGIC.len()).rposition(|each| each == MAGIC)?;
    Header::read(&bytes[from..]).map(|(header, _)| header)
}
