//! The kernel's records of each CPU in succession (`Feed`), and the feed of perf_event_open(2) (`Groups`).

use std::collections::BTreeMap;

use super::events::Pair;
use super::group::{Group, Refused};
use super::parse::KernelEvent;

/// The source of the kernel's records for a `Recorder`.
pub trait Feed {
    /// Begin with a CPU: count this pair there, and read the task that runs on every `window_ns`. Return the
    /// identifier of the samples of switches: all others are of the clock.
    fn begin(&mut self, cpu: u32, pair: &Pair, window_ns: u64) -> Result<u64, Refused>;

    /// Return whether the processor counts on this CPU now.
    fn counts(&self, cpu: u32) -> bool;

    /// Stop with a CPU, which may be gone.
    fn end(&mut self, cpu: u32);

    /// Read all records, of each CPU in order. After the `end` nothing more is read.
    fn take(&mut self, end: bool, each: &mut dyn FnMut(u32, KernelEvent));
}

/// The group of counters of each CPU, with a ring for each.
#[derive(Default)]
pub struct Groups {
    open: BTreeMap<u32, Group>,
}

impl Feed for Groups {
    fn begin(&mut self, cpu: u32, pair: &Pair, window_ns: u64) -> Result<u64, Refused> {
        let group = Group::open(cpu, pair, window_ns)?;
        let leader = group.leader();
        self.open.insert(cpu, group);
        Ok(leader)
    }

    fn counts(&self, cpu: u32) -> bool {
        self.open.get(&cpu).is_some_and(|group| group.counts().unwrap_or(false))
    }

    fn end(&mut self, cpu: u32) {
        self.open.remove(&cpu);
    }

    fn take(&mut self, _: bool, each: &mut dyn FnMut(u32, KernelEvent)) {
        for (cpu, group) in &mut self.open {
            group.take(|event| each(*cpu, event));
        }
    }
}
