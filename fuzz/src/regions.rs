//! A target for files of timed regions: as they are, and with corrected checksums, since mutation does not
//! pass those by chance.

use becalm_clock::regions::{read, Flaw, Found};
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

use crate::class;
use crate::machine::project;

const MAGIC: &[u8] = b"\x89BRG\r\n\x1a\n";
/// The length of a header without texts.
const HEADER: usize = 92;
/// The length of the head of a block or a closing.
const HEAD: usize = 48;
/// The length of a record.
const RECORD: usize = 24;

pub fn region_seeds() -> Vec<Vec<u8>> {
    let path = project().join("crates/becalm-clock/tests/vectors/small.regions");
    let small = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // A header without blocks, and a file without a closing.
    vec![small[..162].to_vec(), small[..402].to_vec(), small]
}

/// Read the bytes as they are and with corrected checksums.
pub fn regions(bytes: &[u8]) -> u64 {
    let sealed = sealed(bytes);
    told(&read(bytes), bytes.len()) ^ told(&read(&sealed), sealed.len()).rotate_left(1)
}

/// Return a number for the content of a file, and panic if the content is impossible.
fn told(found: &Found, size: usize) -> u64 {
    let mut end = 0;
    let mut kinds = BTreeSet::new();
    for flaw in &found.flaws {
        if let Flaw::Damaged(at, many) = *flaw {
            assert!(end <= at && many > 0 && at + many <= size, "{flaw}");
            end = at + many;
        }
        kinds.insert(class(&flaw.to_string()));
    }
    let records = found.records().count();
    assert!(records * RECORD + found.blocks.len() * HEAD <= size, "{records} records in {size} bytes");
    for each in found.records() {
        let ns = found.ns(each);
        assert!(ns.is_some() == found.header.is_some() && ns.unwrap_or(0.0).is_finite(), "{ns:?}");
    }
    let flags = found.records().fold(0, |all, each| all | u64::from(each.flags & 7));
    let counts = [records.min(8), found.blocks.len().min(4), usize::from(found.closing.is_some())];
    let names = found.header.as_ref().map_or(0, |header| header.names.len().min(8) + 1);
    let numbers = counts.into_iter().chain([names, usize::from(found.dropped() > 0)]);
    numbers.fold(flags, |all, each| all * 16 + each as u64) ^ kinds.into_iter().fold(0, u64::wrapping_add)
}

/// Return the bytes with corrected checksums in everything that looks like a part.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut made = bytes.to_vec();
    let mut at = 0;
    while at < made.len() {
        at += seal(&mut made[at..]).unwrap_or(1);
    }
    made
}

/// Correct the checksums of the part at the beginning, and return its length.
fn seal(rest: &mut [u8]) -> Option<usize> {
    let number = |rest: &[u8], at: usize| {
        let four = rest.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(four) as usize)
    };
    if rest.starts_with(MAGIC) {
        let length = number(rest, 12).filter(|length| (HEADER..=rest.len()).contains(length))?;
        put(rest, length - 4, 0..length - 4);
        return Some(length);
    }
    let block = rest.starts_with(b"RBLK");
    if rest.len() < HEAD || !block && !rest.starts_with(b"REND") {
        return None;
    }
    let length = if block { HEAD + number(rest, 4)? * RECORD } else { HEAD };
    if block && length <= rest.len() {
        put(rest, 36, HEAD..length);
    }
    put(rest, HEAD - 4, 0..HEAD - 4);
    Some(length)
}

fn put(rest: &mut [u8], at: usize, of: Range<usize>) {
    let sum = crc32(&rest[of]);
    rest[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Compute CRC-32 as in zlib, bit by bit and independently of the reader.
fn crc32(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32| if crc & 1 == 1 { 0xEDB8_8320 ^ crc >> 1 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shifted(crc)))
}
