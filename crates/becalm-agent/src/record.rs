//! A record: what is gathered from before the first of its runs until after the last, and the resulting load.

use becalm_core::load::digest::Digest;
use becalm_core::load::own::Own;
use becalm_core::load::own_cpus::{Cpu, OwnCpus, Shared};
use becalm_core::load::{Load, Queue};
use becalm_core::source::group::Counted;

use crate::series::Samples;

/// A record that has begun.
pub struct Record {
    pub first: u64,
    pub last: Option<u64>,
    pub begin: Digest,
    /// The activity of each CPU at the beginning.
    pub cpus: Vec<Cpu>,
    /// The CPUs that its programs could use.
    pub shared: Shared,
    pub around: Counted,
    /// Whether all its programs were in their own group.
    pub joined: bool,
    /// The CPU time that observing had taken at the beginning, ns.
    pub spent_ns: i64,
    pub own: Own,
    pub queue: Queue,
    pub series: Samples,
}

impl Record {
    /// Begin a record with this run, from the current state of the machine, its CPUs and the group of the
    /// programs.
    pub fn new(
        first: u64,
        (begin, cpus, around): (Digest, Vec<Cpu>, Counted),
        spent_ns: i64,
        series: Samples,
    ) -> Self {
        let (own, queue, shared) = (Own::none_yet(), Queue::default(), Shared::default());
        Self { first, last: None, begin, cpus, shared, around, joined: true, spent_ns, own, queue, series }
    }

    /// Take a sample of the time before `until_ns`; an older one belongs to the previous record.
    pub fn sample(&mut self, digest: Digest, until_ns: i64) {
        if digest.at_ns() > self.begin.at_ns() && digest.at_ns() < until_ns {
            if let Some(others) = digest.others_running() {
                self.queue.add(others);
            }
            self.series.add(digest);
        }
    }

    /// Return the load of its runs up to `last`, from the current state of the machine and its CPUs, and what moved
    /// in the group. `epoch_ns` is Unix time minus CLOCK_MONOTONIC_RAW; `spent_ns` is the CPU time that observing
    /// has taken so far.
    pub fn load(
        &self,
        last: u64,
        (end, cpus, around): (&Digest, &[Cpu], &Counted),
        epoch_ns: i64,
        spent_ns: i64,
    ) -> Load {
        let pressure_ns = if self.joined { around.pressure_ns } else { [None; 3] };
        Load {
            first: self.first,
            last,
            queue: self.queue,
            own: Own { quota_ns: around.quota_ns, pressure_ns, ..self.own },
            own_cpus: OwnCpus::between(&self.shared, &self.cpus, cpus),
            cost_ns: spent_ns - self.spent_ns,
            ..Load::between(&self.begin, end, epoch_ns)
        }
    }
}
