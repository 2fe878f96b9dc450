//! The table of knobs. One more knob is one more row here; help, completion and docs are generated from it.

use serde::Serialize;

/// Where a knob acts: on one process, on the running machine, or at its next boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Process,
}

/// One system parameter as plain data.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Knob {
    pub name: &'static str,
    pub scope: Scope,
    /// The values it takes, in words.
    pub domain: &'static str,
    /// Why it matters for run times.
    pub matters: &'static str,
    /// What it needs beyond the rights of an ordinary user.
    pub privilege: &'static str,
    /// Where it is documented.
    pub source: &'static str,
}

/// All knobs, in the order in which they are listed.
pub const CATALOGUE: &[Knob] = &[
    Knob {
        name: "cpus",
        scope: Scope::Process,
        domain: "a list of CPUs such as 0,2-3",
        matters: "a program that is not moved between CPUs keeps its caches",
        privilege: "",
        source: "sched_setaffinity(2)",
    },
    Knob {
        name: "nice",
        scope: Scope::Process,
        domain: "-20 (most CPU time) to 19 (least)",
        matters: "the share of a CPU when others want it too",
        privilege: "CAP_SYS_NICE below the present value",
        source: "setpriority(2)",
    },
    Knob {
        name: "io_priority",
        scope: Scope::Process,
        domain: "realtime:0-7, best-effort:0-7, idle or none",
        matters: "whose disk requests come first, with schedulers that heed it",
        privilege: "CAP_SYS_ADMIN or CAP_SYS_NICE for realtime",
        source: "ioprio_set(2)",
    },
    Knob {
        name: "policy",
        scope: Scope::Process,
        domain: "other, batch, idle, fifo:1-99 or rr:1-99",
        matters: "who may interrupt the program, and how often",
        privilege: "CAP_SYS_NICE for fifo and rr",
        source: "sched(7)",
    },
    Knob {
        name: "slice_ns",
        scope: Scope::Process,
        domain: "100000 to 100000000 ns, or 0 for the default",
        matters: "how long the program runs before others of its priority get their turn",
        privilege: "",
        source: "sched_setattr(2), kernel 6.12 and later",
    },
    Knob {
        name: "aslr",
        scope: Scope::Process,
        domain: "on or off",
        matters: "whether addresses, and with them cache and branch conflicts, change from run to run",
        privilege: "",
        source: "personality(2), ADDR_NO_RANDOMIZE",
    },
];

/// The row of a name.
pub fn find(name: &str) -> Option<&'static Knob> {
    CATALOGUE.iter().find(|knob| knob.name == name)
}

/// The name in the catalogue that is most like `name`, when one is like it at all.
pub fn nearest(name: &str) -> Option<&'static str> {
    CATALOGUE
        .iter()
        .map(|knob| (distance(name, knob.name), knob.name))
        .min()
        .filter(|(far, near)| *far <= near.len().div_ceil(2))
        .map(|(_, near)| near)
}

/// Levenshtein's edit distance, in bytes; names are short.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let next = (row[j] + 1).min(row[j + 1] + 1).min(corner + usize::from(x != y));
            corner = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_rows_have_words() {
        for (i, knob) in CATALOGUE.iter().enumerate() {
            assert!(CATALOGUE[..i].iter().all(|other| other.name != knob.name), "{}", knob.name);
            assert!(!knob.domain.is_empty() && !knob.matters.is_empty() && !knob.source.is_empty());
        }
    }

    #[test]
    fn a_misspelt_name_has_a_neighbour() {
        assert_eq!(nearest("niec"), Some("nice"));
        assert_eq!(nearest("slicens"), Some("slice_ns"));
        assert_eq!(nearest("completely-else"), None);
    }
}
