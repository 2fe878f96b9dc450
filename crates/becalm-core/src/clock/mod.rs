//! The evaluation of timers: the shortest time, and the smallest change of it, that each can show.
//!
//! Liao, Zuo, Wang and Lin, Timing Method and Evaluation Metrics for CPU Performance Variation Detections,
//! Chinese Journal of Computers 2024. A measured time is the true one, plus the timer's cost, plus what the
//! operating system adds; with work that never varies, the variation that remains after the smallest cost and
//! the operating system's share are removed is the timer's own.
//!
//! The subject of an evaluation is a `meter`, which measures work of a given length; `synthetic` is one with
//! a known answer. `filter` removes the operating system's share from a set of measurements, `statistics` are
//! of such sets, `search` finds the shortest time (t_min) and the smallest difference (t_diff). `random` is
//! the generator for all of it.
//!
//! On a real machine: `chain` is the work, `caches` writes before it (`evict`: or evicts), `timer` has the
//! timers, and `bench` is one of them as a meter. `trust` describes how far the clock can be trusted
//! (`fences` tests whether fences hold, `step` whether the counters of two processors are in step), `cell`
//! measures one timer at one flush size with the `effort` that fits its time, `rounds` measures all cells,
//! and those without an answer again, and `evaluate` does all of this; `request` has the request and the
//! reports, `serve` makes a program of it, and `suspended` finds out whether the machine slept meanwhile.

pub mod bench;
pub mod caches;
pub mod cell;
pub mod chain;
pub mod effort;
pub mod evaluate;
pub mod evict;
pub mod fences;
pub mod filter;
pub mod meter;
pub mod pin;
pub mod random;
pub mod request;
pub mod rounds;
pub mod search;
pub mod serve;
pub mod statistics;
pub mod step;
pub mod suspended;
pub mod synthetic;
pub mod timer;
pub mod trust;
