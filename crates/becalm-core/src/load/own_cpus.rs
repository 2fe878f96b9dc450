//! The activity of the CPUs that the programs of a record could use.
//!
//! Others elsewhere are not a load for a program that is bound to other CPUs (affinity, cpuset, isolation).

use std::mem;
use std::sync::Arc;

use crate::source::affinity::Cpus;
use crate::source::layout::Layout;
use crate::source::snapshot::{known, Snapshot};
use crate::source::TICK_NS;

/// The CPUs that all programs of a record could use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Shared {
    /// No program has ended yet.
    #[default]
    Open,
    Same(Cpus),
    /// The programs could use different CPUs, or those of one are not known.
    Unknown,
}

impl Shared {
    /// Return the set, if there is one.
    pub fn same(&self) -> Option<&Cpus> {
        match self {
            Self::Same(cpus) => Some(cpus),
            Self::Open | Self::Unknown => None,
        }
    }

    /// Add a program that has ended and could use these CPUs.
    pub fn join(&mut self, cpus: Option<Cpus>) {
        *self = match (mem::take(self), cpus) {
            (Self::Open, Some(cpus)) => Self::Same(cpus),
            (Self::Same(before), Some(cpus)) if before == cpus => Self::Same(cpus),
            _ => Self::Unknown,
        }
    }
}

/// The activity of a CPU since the boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    pub number: usize,
    pub busy: u64,
    pub steal: u64,
}

/// A finder of the CPUs among the values of a snapshot.
#[derive(Default)]
pub struct Finder {
    layout: Arc<Layout>,
    /// The number of each CPU, and the places of user, nice, system and steal.
    places: Vec<(usize, [usize; 4])>,
}

impl Finder {
    /// Return the online CPUs of a snapshot.
    pub fn cpus(&mut self, snapshot: &Snapshot) -> Vec<Cpu> {
        let Some(section) = snapshot.section("stat") else { return Vec::new() };
        if !Arc::ptr_eq(&self.layout, &section.layout) {
            let names: Vec<String> = section.layout.names().take(section.len).map(|(name, _)| name).collect();
            self.places = find(&names);
            self.layout = Arc::clone(&section.layout);
        }
        let values = snapshot.of(section);
        let cpu = |(number, places): &(usize, [usize; 4])| {
            let [user, nice, system, steal] = places.map(|place| known(values[place]));
            Some(Cpu { number: *number, busy: user? + nice? + system?, steal: steal? })
        };
        self.places.iter().filter_map(cpu).collect()
    }
}

fn find(names: &[String]) -> Vec<(usize, [usize; 4])> {
    let place = |name: String| names.iter().position(|found| *found == name);
    let cpus = names.iter().filter_map(|name| name.strip_prefix("cpu")?.strip_suffix(".user")?.parse().ok());
    let found = cpus.filter_map(|number: usize| {
        let [user, nice, system, steal] =
            ["user", "nice", "system", "steal"].map(|what| place(format!("cpu{number}.{what}")));
        Some((number, [user?, nice?, system?, steal?]))
    });
    found.collect()
}

/// The activity of the CPUs of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCpus {
    pub count: u64,
    pub busy_ns: u64,
    pub steal_ns: u64,
}

impl OwnCpus {
    /// Return the activity of the CPUs of `shared` that are online, from one reading to a later one; None if
    /// that of one of them is not known.
    pub fn between(shared: &Shared, begin: &[Cpu], end: &[Cpu]) -> Option<Self> {
        let Shared::Same(cpus) = shared else { return None };
        let mut sum = Self { count: 0, busy_ns: 0, steal_ns: 0 };
        for after in end.iter().filter(|cpu| cpus.contains(&cpu.number)) {
            let before = begin.iter().find(|cpu| cpu.number == after.number)?;
            sum.count += 1;
            sum.busy_ns += after.busy.checked_sub(before.busy)? * TICK_NS;
            sum.steal_ns += after.steal.checked_sub(before.steal)? * TICK_NS;
        }
        (sum.count > 0).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(number: usize, busy: u64, steal: u64) -> Cpu {
        Cpu { number, busy, steal }
    }

    #[test]
    fn sums_are_over_the_cpus_that_all_programs_could_use() {
        let begin = [cpu(0, 100, 1), cpu(1, 50, 2), cpu(3, 7, 0)];
        let end = [cpu(0, 190, 1), cpu(1, 53, 3), cpu(3, 7, 0)];
        let mut shared = Shared::default();
        assert_eq!(OwnCpus::between(&shared, &begin, &end), None);
        shared.join(Some(vec![1, 2]));
        shared.join(Some(vec![1, 2]));
        let expected = OwnCpus { count: 1, busy_ns: 3 * TICK_NS, steal_ns: TICK_NS };
        assert_eq!(OwnCpus::between(&shared, &begin, &end), Some(expected), "CPU 2 is offline");
        assert_eq!(OwnCpus::between(&shared, &begin[..1], &end), None, "CPU 1 came meanwhile");
        assert_eq!(OwnCpus::between(&shared, &end, &begin), None, "it ran backwards");
        shared.join(Some(vec![0]));
        assert_eq!(shared, Shared::Unknown);
        shared.join(Some(vec![0]));
        assert_eq!(OwnCpus::between(&shared, &begin, &end), None);
        let mut shared = Shared::default();
        shared.join(None);
        assert_eq!(shared, Shared::Unknown);
    }

    #[test]
    fn cpus_are_found_by_their_names() {
        let names: Vec<String> =
            ["cpu.user", "cpu0.user", "cpu0.nice", "cpu0.system", "cpu0.steal", "cpu12.user"]
                .map(str::to_owned)
                .to_vec();
        assert_eq!(find(&names), [(0, [1, 2, 3, 4])]);
    }
}
