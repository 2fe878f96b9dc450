//! Files of timed regions: rings are written to them outside of the timed code, and they are read back.
//!
//! ```no_run
//! use becalm_clock::regions::{read, Writer};
//! use becalm_clock::ring::{Full, Record, Ring};
//! use becalm_clock::Clock;
//!
//! const PARSE: u32 = 0;
//! let clock = Clock::open()?;
//! let mut memory = vec![Record::EMPTY; 100_000];
//! let mut ring = Ring::new(&mut memory, Full::DropNewest);
//! for _ in 0..50_000 {
//!     let from = clock.begin();
//!     std::hint::black_box((1..=10_u64).sum::<u64>());
//!     ring.push(PARSE, from, clock.end());
//! }
//! let mut file = Writer::create("parse.regions", &clock, &["parse"])?;
//! file.flush(&mut ring, 0)?;
//! file.close()?;
//! let found = read(&std::fs::read("parse.regions")?);
//! assert_eq!(found.records().count(), 50_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - `header` is the beginning of a file, repeated at its end.
//! - `record` is a region as it is stored.
//! - `writer` writes rings as blocks.
//! - `reader` reads all that is intact of a file, however it is damaged.
//! - `bytes` reads integers, and `crc` computes the checksum of each part.
//! - `host` identifies this machine.
//! - `place` chooses the path when several processes write.
//!
//! docs/reference/regions.md describes every byte; `becalm import` reads such files, too, and
//! `becalm_regions.h` writes them from C and C++.

mod bytes;
mod crc;
mod header;
mod host;
mod place;
mod reader;
mod record;
mod writer;

pub use header::Header;
pub use reader::{read, Block, Closing, Flaw, Found};
pub use record::{TimedRegion, MIGRATED, OUT_OF_STEP, SHORTER_THAN_COST, UNKNOWN_CPU};
pub use writer::Writer;

/// The version of the format that this crate writes.
pub const VERSION: u16 = 1;
/// The first bytes of a header. The first byte is not text, and the line ends reveal a transfer that changed
/// them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89BRG\r\n\x1a\n";
/// The first bytes of a block of records.
pub(crate) const BLOCK: [u8; 4] = *b"RBLK";
/// The first bytes of the closing, which ends a file.
pub(crate) const CLOSING: [u8; 4] = *b"REND";
/// The number of bytes before the records of a block, and the length of a closing before its header.
pub(crate) const HEAD: usize = 48;
/// The largest number of records in a block.
pub(crate) const MOST: usize = 65_536;
