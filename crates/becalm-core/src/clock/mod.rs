//! The evaluation of timers: the shortest time, and the smallest change of it, that each can show.
//!
//! Liao, Zuo, Wang and Lin, Timing Method and Evaluation Metrics for CPU Performance Variation Detections, Chinese
//! Journal of Computers 2024. A measured time is the true one, the timer's cost, and what the operating system adds;
//! with work that never varies, what still varies after the smallest cost and the operating system's share were taken
//! away is the timer's own.
//!
//! `meter` is what is evaluated: something that measures work of a given length; `synthetic` is one with a known
//! answer. `filter` takes the operating system's share out of a set of measurements, `statistics` are of such sets, `search`
//! finds the shortest time (t_min) and the smallest difference (t_diff). `random` is the generator of all of it.
//!
//! On a real machine: `chain` is the work, `caches` what is written before it (`evict`: or evicted), `timer` the timers, `bench` one of them as a
//! meter. `trust` says what the clock is worth (`fences` tries whether fences hold, `step` whether
//! the counters of two processors are in step), `cell` measures one timer at one
//! flush size with the `effort` that fits its time, `rounds` are all of them, those without an answer again, and `evaluate`
//! is the whole; `request` is what it is asked and what it tells, `serve`
//! makes a program of it, and `suspended` tells whether the machine slept meanwhile.

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
