//! `Feed`, the kernel's records of each CPU one after the other, and `Groups`, the feed of perf_event_open(2).

use std::collections::BTreeMap;

use super::events::Pair;
use super::group::{Group, Refused};
use super::parse::Said;

/// Where a `Recorder` has what the kernel says from.
pub trait Feed {
    /// Begin with a CPU: count this pair there, and read whoever goes on for `window_ns`. Which samples are those of
    /// switches: all others are of the clock.
    fn begin(&mut self, cpu: u32, pair: &Pair, window_ns: u64) -> Result<u64, Refused>;

    /// Whether the processor counts on this CPU now.
    fn counts(&self, cpu: u32) -> bool;

    /// Be done with a CPU, which may be gone.
    fn end(&mut self, cpu: u32);

    /// Take all that was said, of each CPU in its order. At the `end` nothing is taken after it.
    fn take(&mut self, end: bool, each: &mut dyn FnMut(u32, Said));
}

/// A group of counters for each CPU, each with a ring of its own.
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

    fn take(&mut self, _: bool, each: &mut dyn FnMut(u32, Said)) {
        for (cpu, group) in &mut self.open {
            group.take(|said| each(*cpu, said));
        }
    }
}
