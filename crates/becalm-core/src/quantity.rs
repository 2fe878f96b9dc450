//! Quantities that the agent itself measures in a run besides its times: a row each. A metric names one in place of a
//! number that the program prints (`metric`).

use serde::Serialize;

/// The way to measure a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The wall time itself: so that it is what is compared, and others stand beside it.
    Wall,
    /// Resident memory of all processes of the program, over time.
    Memory(Memory),
    /// The count of an event of this name.
    Counter(&'static str),
    /// Energy of the packages of the processor, by RAPL's name of the domain.
    Energy(&'static str),
}

/// The figure that describes memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Average,
    Peak,
    Growth,
}

/// One row. `title` is what it is called in sentences, `unit` that of its values, empty for mere numbers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Quantity {
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
    #[serde(skip)]
    pub kind: Kind,
}

const fn memory(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    which: Memory,
    meaning: &'static str,
) -> Quantity {
    Quantity { name, title, unit, meaning, kind: Kind::Memory(which) }
}

const fn counter(
    name: &'static str,
    title: &'static str,
    event: &'static str,
    meaning: &'static str,
) -> Quantity {
    Quantity { name, title, unit: "", meaning, kind: Kind::Counter(event) }
}

const fn energy(
    name: &'static str,
    title: &'static str,
    domain: &'static str,
    meaning: &'static str,
) -> Quantity {
    Quantity { name, title, unit: "J", meaning, kind: Kind::Energy(domain) }
}

/// All of them.
pub const TABLE: &[Quantity] = &[
    Quantity { name: "time:wall", title: "wall time", unit: "s", meaning: "the wall time: to compare it, and record further metrics beside it", kind: Kind::Wall },
    memory("memory:average", "average memory", "bytes", Memory::Average, "mean over the run of the resident memory of all its processes; a page that several share counts in each"),
    memory("memory:peak", "peak memory", "bytes", Memory::Peak, "the most that was resident at once, of all its processes as far as it was seen, or of one as the kernel counts it (wait4), whichever is larger"),
    memory("memory:growth", "memory growth", "", Memory::Growth, "mean of the last quarter of the run over that of its second quarter: above 1 where memory grows after the start"),
    counter("counter:cycles", "cycle count", "cycles", "cycles of the processor in which it ran"),
    counter("counter:instructions", "instruction count", "instructions", "instructions that were executed; of each cycle: counter:cycles beside it"),
    counter("counter:cache-references", "cache reference count", "cache-references", "accesses to the last cache, as the processor's maker defines them"),
    counter("counter:cache-misses", "cache miss count", "cache-misses", "those of them that went on to memory"),
    counter("counter:branches", "branch count", "branches", "branches that were executed"),
    counter("counter:branch-misses", "branch miss count", "branch-misses", "those of them that were foreseen wrongly"),
    Quantity { name: "counter:task-clock", title: "CPU time", unit: "ms", meaning: "time on CPUs of all its threads, as the kernel counts it", kind: Kind::Counter("task-clock") },
    counter("counter:page-faults", "page fault count", "page-faults", "page faults of both kinds"),
    counter("counter:minor-faults", "minor fault count", "minor-faults", "page faults for which nothing was read"),
    counter("counter:major-faults", "major fault count", "major-faults", "page faults for which something was read"),
    counter("counter:context-switches", "context switch count", "context-switches", "how often a CPU went from it to something else"),
    counter("counter:cpu-migrations", "migration count", "cpu-migrations", "how often one of its threads moved to another CPU"),
    energy("energy:package", "energy", "package", "energy of all packages of the processor during the run, whatever else ran meanwhile"),
    energy("energy:core", "energy of cores", "core", "the share of the cores, where the processor tells it"),
    energy("energy:dram", "energy of memory", "dram", "that of the memory, where the machine tells it"),
];

/// The row of a name.
pub fn find(name: &str) -> Option<&'static Quantity> {
    TABLE.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_its_name() {
        for row in TABLE {
            assert_eq!(find(row.name), Some(row));
            assert_eq!(
                matches!(row.kind, Kind::Counter(_)),
                row.name.starts_with("counter:"),
                "{}",
                row.name
            );
        }
        assert_eq!(find("counter:heat"), None);
    }
}
