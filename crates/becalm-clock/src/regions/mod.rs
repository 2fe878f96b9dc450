//! Files of timed regions: what a program has kept in its rings, written outside of what is timed, and read back.
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
//! `header` is what stands at the beginning and, once more, at the end; `record` is a region as it is stored; `writer`
//! makes blocks of rings; `reader` takes apart what is there, whatever happened to it; `bytes` are numbers, `crc` is the
//! checksum of each piece; `host` says which machine this is; `place` where a file goes that several processes write. docs/reference/regions.md describes every byte; `becalm import` reads such
//! files, too, and `becalm_regions.h` writes the same from C and C++.

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

/// The version of the format that is written here.
pub const VERSION: u16 = 1;
/// A header begins so. The first byte is no text, and the line ends show a transfer that changed them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89BRG\r\n\x1a\n";
/// A block of records begins so.
pub(crate) const BLOCK: [u8; 4] = *b"RBLK";
/// What closes the file begins so.
pub(crate) const CLOSING: [u8; 4] = *b"REND";
/// Bytes before the records of a block, and of what closes the file.
pub(crate) const HEAD: usize = 48;
/// More records than that are in no block.
pub(crate) const MOST: usize = 65_536;
