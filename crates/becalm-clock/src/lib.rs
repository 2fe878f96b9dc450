//! Timers for very short code, built on the processor's own counters, with their cost and the bounds of their
//! accuracy.
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
//!     println!("the region ended on another processor, whose counter may differ");
//! } else {
//!     println!("{sum}: {} ticks, {} ns", region.ticks, clock.ns(region.ticks));
//! }
//! # Ok::<(), becalm_clock::Unusable>(())
//! ```
//!
//! `clock.begin()` and `clock.end()` read whichever clock the machine has. [`begin`] and [`end`] read the
//! processor's counter without a branch, for use where [`Info::fallback`] is None: on a processor without the
//! counter they end the program.
//!
//! - `instructions` reads the counters, one file per architecture, with the reason for each fence; `stamp` is
//!   the result of a read.
//! - `scale` converts ticks to nanoseconds without a division.
//! - `quantum` finds the step by which a counter really advances.
//! - `ring` keeps regions in memory that the caller provides.
//! - With the feature `os` (default): `ability` reports what this machine has and why not, `calibration`
//!   measures the frequency with its error, `cycles` reads the core's cycle counter through the page of a
//!   perf event, and `clock` combines them. Without it the crate needs no operating system.
//! - With the feature `std`: `regions` writes rings to a file and reads such files.
//!
//! Nothing is subtracted and nothing is clamped: a region shorter than the clock's cost reads as about that
//! cost, and a counter that went backwards gives a negative length.
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
