//! Knobs: the system parameters that becalm knows, as rows of one table.
//!
//! `catalogue` is the table, `process` acts on the knobs of scope `process` (set between fork and exec). Other scopes
//! and ways of acting get a file each.

pub mod catalogue;
pub mod process;
