//! When a running program moves cheaply: from records of switches with two counters per CPU to sweet spots.
//!
//! `record` has the noun that every source makes: the cache simulator, synthetic streams, and whatever reads a machine.
//! Source: K. Tabere, Migration Sweetspots, diploma thesis, TU Dresden 2013.

pub mod record;

pub use record::{Record, Task, What, IDLE};
