//! The quantities that the agent itself measures in a run besides its times: a row each. A metric names one
//! in place of a number that the program prints (`metric`).

use serde::Serialize;

/// The way to measure a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The wall time itself, so that it is compared while others are shown next to it.
    Wall,
    /// A number that the kernel counts for a process and the children it waited for (wait4).
    Usage(Field),
    /// The resident memory of all processes of the program, over time.
    Memory(Memory),
    /// The count of an event of this name.
    Counter(&'static str),
    /// The energy of the packages of the processor, by RAPL's name of the domain.
    Energy(&'static str),
}

/// A member of wait4's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    User,
    System,
    Cpu,
    MinorFaults,
    MajorFaults,
    Voluntary,
    Involuntary,
}

/// The figure that describes memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Average,
    Peak,
    Growth,
}

/// One row. `title` is its name in sentences, `unit` that of its values, empty for plain numbers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Quantity {
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
    #[serde(skip)]
    pub kind: Kind,
}

const fn usage(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    field: Field,
    meaning: &'static str,
) -> Quantity {
    Quantity { name, title, unit, meaning, kind: Kind::Usage(field) }
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

/// All quantities.
pub const TABLE: &[Quantity] = &[
    Quantity { name: "time:wall", title: "wall time", unit: "s", meaning: "from start to end of the program: given first, it is compared, and further metrics are recorded next to it", kind: Kind::Wall },
    usage("time:user", "user time", "s", Field::User, "CPU time that the program and the children it waited for spent in their own code"),
    usage("time:system", "system time", "s", Field::System, "CPU time that the kernel spent on behalf of the same processes"),
    usage("time:cpu", "CPU time", "s", Field::Cpu, "user and system time together: above the wall time where several threads run at once"),
    usage("faults:minor", "minor faults", "", Field::MinorFaults, "page faults of the same processes for which nothing was read from disk"),
    usage("faults:major", "major faults", "", Field::MajorFaults, "page faults of the same processes for which something was read from disk"),
    usage("switches:voluntary", "voluntary switches", "", Field::Voluntary, "how often one of the same processes gave up its CPU to wait for something"),
    usage("switches:involuntary", "involuntary switches", "", Field::Involuntary, "how often the kernel took the CPU from one of the same processes"),
    memory("memory:average", "average memory", "bytes", Memory::Average, "resident memory of all its processes, averaged over the run; a page that several processes share counts in each"),
    memory("memory:peak", "peak memory", "bytes", Memory::Peak, "largest resident memory: of all its processes at one of the samples, or of one process by the kernel's own count (wait4), whichever is larger"),
    memory("memory:growth", "memory growth", "", Memory::Growth, "mean memory in the last quarter of the run divided by that in the second quarter: above 1 where memory still grows after the start"),
    counter("counter:cycles", "cycle count", "cycles", "processor cycles during which it ran"),
    counter("counter:instructions", "instruction count", "instructions", "executed instructions; with counter:cycles next to it, becalm also reports instructions per cycle"),
    counter("counter:cache-references", "cache reference count", "cache-references", "accesses to the last level of cache, as the processor's maker defines them"),
    counter("counter:cache-misses", "cache miss count", "cache-misses", "accesses to the last level of cache that had to go to memory"),
    counter("counter:branches", "branch count", "branches", "executed branches"),
    counter("counter:branch-misses", "branch miss count", "branch-misses", "branches that the processor predicted wrongly"),
    Quantity { name: "counter:task-clock", title: "task clock", unit: "ms", meaning: "time on CPUs of all its processes, also of those that nobody waited for", kind: Kind::Counter("task-clock") },
    counter("counter:page-faults", "page fault count", "page-faults", "minor and major page faults"),
    counter("counter:minor-faults", "minor fault count", "minor-faults", "page faults for which nothing was read from disk"),
    counter("counter:major-faults", "major fault count", "major-faults", "page faults for which something was read from disk"),
    counter("counter:context-switches", "context switch count", "context-switches", "how often a CPU switched from one of its threads to something else"),
    counter("counter:cpu-migrations", "migration count", "cpu-migrations", "how often one of its threads moved to another CPU"),
    energy("energy:package", "energy", "package", "energy that all processor packages used during the run, for other programs too"),
    energy("energy:core", "energy of cores", "core", "energy of only the cores, where the processor reports it"),
    energy("energy:dram", "energy of memory", "dram", "energy of the memory, where the machine reports it"),
];

/// Return the row of a name.
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
