//! The instructions that read counters, one file per architecture.

#[cfg(target_arch = "aarch64")]
pub mod aarch64;
#[cfg(target_arch = "x86_64")]
pub mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::{begin, end};
#[cfg(target_arch = "x86_64")]
pub use x86_64::{begin, end};
