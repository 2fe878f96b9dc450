//! A file of perf, one record after the other: attributes first, then records with their headers.

use std::io::{Read, Seek, SeekFrom};

use super::layout::Attributes;
use super::PerfError;

/// The largest number of events: perf has one for each counter and some of its own.
const MOST_EVENTS: u64 = 1 << 10;

/// The largest number of ids: one for each event on each CPU.
const MOST_IDS: u64 = 1 << 20;

/// The longest name of a processor in the header.
const LONGEST_STRING: u64 = 4096;

const CPUID: u32 = 9;

/// The feature that describes how records are compressed (HEADER_COMPRESSED).
const HEADER_COMPRESSED: u32 = 27;

/// The number of features in the first word of their bits.
const FEATURES: u32 = 63;

const MAGIC: &[u8; 8] = b"PERFILE2";

/// An event, with the ids that the kernel gave it.
#[derive(Debug, Clone)]
pub struct Event {
    pub attributes: Attributes,
    pub ids: Vec<u64>,
}

/// A file that is read from its beginning to its end.
pub struct File<R> {
    input: R,
    at: u64,
    /// The end of the records; None: that of the file.
    end: Option<u64>,
    pub events: Vec<Event>,
    /// Whether it was written through a pipe: then attributes are records.
    pub piped: bool,
    /// The end of the file, if that is before the end of the parts behind its records.
    pub cut: Option<u64>,
    /// Vendor, family and so on, if the file has them.
    pub processor: String,
    body: Vec<u8>,
}

/// The header of a record.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub kind: u32,
    pub misc: u16,
}

impl<R: Read + Seek> File<R> {
    /// Read header and attributes.
    pub fn open(mut input: R) -> Result<Self, PerfError> {
        let mut magic = [0; 8];
        let got = fill(&mut input, &mut magic)?;
        if got < 8 || &magic != MAGIC {
            return Err(if magic.iter().rev().eq(MAGIC) { PerfError::Order } else { PerfError::Magic });
        }
        let mut made = Self {
            input,
            at: 8,
            end: None,
            events: Vec::new(),
            piped: false,
            cut: None,
            processor: String::new(),
            body: Vec::new(),
        };
        let size = made.word()?;
        match size {
            // A file that comes through a pipe: attributes are records.
            16 => return Ok(Self { piped: true, ..made }),
            104 => {}
            _ => return Err(PerfError::Damaged { at: 8, what: "its header has no length of perf's" }),
        }
        let length = made.input.seek(SeekFrom::End(0))?;
        made.go(16)?;
        let (each, attributes, data) = (made.word()?, made.section(length)?, made.section_unbound()?);
        made.go(72)?;
        let features = made.word()?;
        if !(80..=4096).contains(&each) || attributes.1 / each > MOST_EVENTS {
            return Err(PerfError::Damaged { at: 16, what: "its attributes have no length of perf's" });
        }
        for number in 0..attributes.1 / each {
            made.go(attributes.0 + number * each)?;
            let mut bytes = vec![0; each as usize];
            made.exactly(&mut bytes)?;
            let parsed = Attributes::parse(&bytes);
            made.go(attributes.0 + (number + 1) * each - 16)?;
            let ids = made.section(length)?;
            made.go(ids.0)?;
            let ids = made.ids(ids.1 / 8)?;
            let attributes = parsed.ok_or(PerfError::Damaged { at: made.at, what: "attributes are cut" })?;
            made.events.push(Event { attributes, ids });
        }
        if features >> HEADER_COMPRESSED & 1 == 1 {
            return Err(PerfError::Compressed);
        }
        let end = data.0.checked_add(data.1).filter(|end| *end <= length);
        let end = end.ok_or(PerfError::Damaged { at: length, what: "it ends before its data do" })?;
        if features >> CPUID & 1 == 1 {
            let before = (features & ((1 << CPUID) - 1)).count_ones();
            // The processor is useful, but nothing depends on it.
            made.processor = made.string(end + 16 * u64::from(before), length).unwrap_or_default();
        }
        let parts = u64::from((features & ((1 << FEATURES) - 1)).count_ones());
        let whole =
            |made: &mut Self, number| made.go(end + 16 * number).is_ok() && made.section(length).is_ok();
        made.cut = (!(0..parts).all(|number| whole(&mut made, number))).then_some(length);
        made.go(data.0)?;
        // The length is zero if perf was killed before it wrote it.
        made.end = (data.1 > 0).then_some(end);
        Ok(made)
    }

    /// Return the next record; its body is valid until the next call.
    pub fn next(&mut self) -> Result<Option<(Head, &[u8])>, PerfError> {
        loop {
            let begin = self.at;
            if self.end.is_some_and(|end| begin >= end) {
                return Ok(None);
            }
            let mut header = [0; 8];
            match fill(&mut self.input, &mut header)? {
                0 if self.end.is_none() => return Ok(None),
                8 => self.at += 8,
                _ => return Err(PerfError::Damaged { at: begin, what: "a record is cut" }),
            }
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let misc = u16::from_ne_bytes([header[4], header[5]]);
            let size = u16::from_ne_bytes([header[6], header[7]]);
            if size < 8 || self.end.is_some_and(|end| begin + u64::from(size) > end) {
                return Err(PerfError::Damaged { at: begin, what: "a record has an impossible length" });
            }
            let mut body = std::mem::take(&mut self.body);
            body.resize(usize::from(size) - 8, 0);
            let read = self.exactly(&mut body);
            self.body = body;
            read.map_err(|_| PerfError::Damaged { at: begin, what: "a record is cut" })?;
            match kind {
                HEADER_ATTR => self.attribute(begin)?,
                COMPRESSED | COMPRESSED2 => return Err(PerfError::Compressed),
                // This record is followed by data of this length.
                AUXTRACE => self.skip(begin, word(&self.body, 0))?,
                HEADER_TRACING_DATA => {
                    let size =
                        word(&self.body, 0).map(|size| (size & u64::from(u32::MAX)).next_multiple_of(8));
                    self.skip(begin, size)?;
                }
                _ => return Ok(Some((Head { kind, misc }, &self.body))),
            }
        }
    }

    /// Read an event that comes as a record: attributes, which contain their own length, then ids.
    fn attribute(&mut self, begin: u64) -> Result<(), PerfError> {
        let damaged = PerfError::Damaged { at: begin, what: "attributes are cut" };
        let size = word(&self.body, 0).map_or(0, |first| (first >> 32) as usize);
        let Some(attributes) = self.body.get(..size.max(64)).and_then(Attributes::parse) else {
            return Err(damaged);
        };
        if self.events.len() as u64 >= MOST_EVENTS {
            return Err(PerfError::Damaged { at: begin, what: "it has more events than perf records" });
        }
        let ids = self.body.get(size.max(64)..).unwrap_or_default();
        let ids = ids.chunks_exact(8).filter_map(|bytes| word(bytes, 0)).collect();
        self.events.push(Event { attributes, ids });
        Ok(())
    }

    fn skip(&mut self, begin: u64, size: Option<u64>) -> Result<(), PerfError> {
        let damaged = || PerfError::Damaged { at: begin, what: "data that follow a record are cut" };
        let to = size.and_then(|size| self.at.checked_add(size)).ok_or_else(damaged)?;
        let end = self.end.map_or_else(|| Ok(u64::MAX / 2), Ok::<u64, PerfError>)?;
        if to > end {
            return Err(damaged());
        }
        self.go(to)
    }

    fn ids(&mut self, count: u64) -> Result<Vec<u64>, PerfError> {
        if count > MOST_IDS {
            return Err(PerfError::Damaged {
                at: self.at,
                what: "an event has more ids than there are CPUs",
            });
        }
        (0..count).map(|_| self.word()).collect()
    }

    /// Return a string of a feature whose section is described at this place.
    fn string(&mut self, described: u64, length: u64) -> Option<String> {
        self.go(described).ok()?;
        let (at, _) = self.section(length).ok()?;
        self.go(at).ok()?;
        let mut size = [0; 4];
        self.exactly(&mut size).ok()?;
        let size = u64::from(u32::from_ne_bytes(size)).min(LONGEST_STRING).min(length - at);
        let mut bytes = vec![0; size as usize];
        self.exactly(&mut bytes).ok()?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn go(&mut self, to: u64) -> Result<(), PerfError> {
        self.at = self.input.seek(SeekFrom::Start(to))?;
        Ok(())
    }

    fn exactly(&mut self, into: &mut [u8]) -> Result<(), PerfError> {
        let got = fill(&mut self.input, into)?;
        self.at += got as u64;
        if got < into.len() {
            return Err(PerfError::Damaged { at: self.at, what: "it ends in the middle" });
        }
        Ok(())
    }

    fn word(&mut self) -> Result<u64, PerfError> {
        let mut bytes = [0; 8];
        self.exactly(&mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Read offset and length of a part, which must lie within the file.
    fn section(&mut self, length: u64) -> Result<(u64, u64), PerfError> {
        let at = self.at;
        let (offset, size) = self.section_unbound()?;
        match offset.checked_add(size) {
            Some(end) if end <= length => Ok((offset, size)),
            _ => Err(PerfError::Damaged { at, what: "a part lies beyond its end" }),
        }
    }

    fn section_unbound(&mut self) -> Result<(u64, u64), PerfError> {
        Ok((self.word()?, self.word()?))
    }
}

const HEADER_ATTR: u32 = 64;
const HEADER_TRACING_DATA: u32 = 66;
const AUXTRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;

/// Return the word at a place; None if there are too few bytes.
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Read until `into` is full or the input ends; return how much was read.
fn fill(input: &mut impl Read, into: &mut [u8]) -> Result<usize, PerfError> {
    let mut got = 0;
    while got < into.len() {
        match input.read(&mut into[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(got)
}
