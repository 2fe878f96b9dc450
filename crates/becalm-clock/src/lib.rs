//! Times of very short code, from the processor's own clocks, with what they cost and how far they can be believed.
//!
//! ```
//! use becalm_clock::Clock;
//!
//! let clock = Clock::open()?;                       // detects, calibrates (0.1 s), measures its own cost
//! let from = clock.begin();
//! let sum: u64 = std::hint::black_box(1..=100).sum();
//! let to = clock.end();
//! let region = from.until(to);
//! if region.migrated {
//!     println!("another processor's clock: this one does not count");
//! } else {
//!     println!("{sum}: {} ticks, {} ns", region.ticks, clock.ns(region.ticks));
//! }
//! # Ok::<(), becalm_clock::Unusable>(())
//! ```
//!
//! `clock.begin()` and `clock.end()` read whichever clock there is; [`begin`] and [`end`] are the processor's counter
//! without the question, for where [`Info::fallback`] is None: on a processor without it they end the program.
//!
//! `instructions` are the reads, one file an architecture, with the reason for each fence; `stamp` is what they return;
//! `scale` turns ticks into nanoseconds without a division; `quantum` finds the step by which a counter really
//! advances; `ring` keeps regions in memory that the caller gives. With the feature `os` (default): `ability` tells what
//! this machine has and why not, `calibration` finds the frequency with its error, `cycles` reads the core's cycle
//! counter through the page of a perf event, and `clock` brings them together. Without it the crate needs no operating
//! system at all. With the feature `std`: `regions` writes rings to a file, and reads such files.
//!
//! Nothing is subtracted and nothing is clamped: a region shorter than the clock's cost reads as about that cost, and a
//! clock that went backwards reads as negative.
#![cfg_attr(not(test), no_std)]

#[cfg(all(feature = "std", not(test)))]
extern crate std;

#[cfg(feature = "os")]
pub mod ability;
#[cfg(feature = "os")]
pub mod calibration;
#[cfg(feature = "os")]
pub mod clock;
#[cfg(all(feature = "os", target_os = "linux"))]
pub mod cycles;
pub mod instructions;
#[cfg(feature = "os")]
pub mod portable;
pub mod quantum;
#[cfg(feature = "std")]
pub mod regions;
pub mod ring;
pub mod scale;
pub mod stamp;

#[cfg(feature = "os")]
pub use ability::Unusable;
#[cfg(feature = "os")]
pub use clock::{Clock, Info};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use instructions::{begin, end};
#[cfg(all(feature = "os", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub use portable::{begin, end};
pub use quantum::quantum;
pub use scale::Scale;
pub use stamp::{Region, Stamp};
