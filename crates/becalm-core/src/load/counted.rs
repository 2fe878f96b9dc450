//! The parts of the table that are read from the machine: the sources, and the columns for which their values
//! count.
//!
//! All of this is derived from the table when the engine is built: nothing here names a column.

use super::column::{Each, Role};
use super::table::TABLE;
use crate::source::TICK_NS;

/// The columns that are differences of counters, by their places in the table.
pub const COUNTED: [usize; count(Role::Counted)] = places(Role::Counted);

/// The columns that are states from the sources, by their places in the table.
pub const STATES: [usize; count(Role::State)] = places(Role::State);

/// The sources of a record, the cheap ones, which are read before and after.
pub const SOURCES: [&str; distinct()] = sources();

const fn count(role: Role) -> usize {
    let (mut index, mut found) = (0, 0);
    while index < TABLE.len() {
        if TABLE[index].take.role() as u8 == role as u8 {
            found += 1;
        }
        index += 1;
    }
    found
}

const fn places<const N: usize>(role: Role) -> [usize; N] {
    let (mut index, mut found, mut places) = (0, 0, [0; N]);
    while index < TABLE.len() {
        if TABLE[index].take.role() as u8 == role as u8 {
            places[found] = index;
            found += 1;
        }
        index += 1;
    }
    places
}

/// Return whether this column is the first of its source.
const fn first_of_source(column: usize) -> bool {
    if TABLE[column].take.role() as u8 == Role::Given as u8 {
        return false;
    }
    let mut before = 0;
    while before < column {
        if TABLE[before].take.role() as u8 != Role::Given as u8
            && same(TABLE[before].source, TABLE[column].source)
        {
            return false;
        }
        before += 1;
    }
    true
}

const fn distinct() -> usize {
    let (mut index, mut found) = (0, 0);
    while index < TABLE.len() {
        if first_of_source(index) {
            found += 1;
        }
        index += 1;
    }
    found
}

const fn sources<const N: usize>() -> [&'static str; N] {
    let (mut index, mut found, mut names) = (0, 0, [""; N]);
    while index < TABLE.len() {
        if first_of_source(index) {
            names[found] = TABLE[index].source;
            found += 1;
        }
        index += 1;
    }
    names
}

const fn same(one: &str, two: &str) -> bool {
    let (one, two) = (one.as_bytes(), two.as_bytes());
    let mut index = 0;
    while index < one.len() && index < two.len() && one[index] == two[index] {
        index += 1;
    }
    index == one.len() && index == two.len()
}

/// The place in `SOURCES` of the source of each column of `COUNTED`.
pub(super) const SOURCE_OF: [usize; COUNTED.len()] = {
    let (mut index, mut found) = (0, [0; COUNTED.len()]);
    while index < COUNTED.len() {
        while !same(SOURCES[found[index]], TABLE[COUNTED[index]].source) {
            found[index] += 1;
        }
        index += 1;
    }
    found
};

/// Return whether a value of a source has this name, in which one `*` stands for at least one character.
pub(super) fn is_called(name: &str, pattern: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else { return name == pattern };
    name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

/// Return the prefixes of the values that are read from a source: the least that a record needs.
pub fn beginnings(source: &str) -> Vec<&'static str> {
    let rows = TABLE.iter().filter(|row| row.source == source);
    let names = rows.flat_map(|row| row.take.names()).map(|name| name.split('*').next().unwrap_or(name));
    let mut found: Vec<&'static str> = names.collect();
    found.sort_unstable();
    // A prefix that begins with another one is read with that.
    found.dedup_by(|one, kept| one.starts_with(*kept));
    found
}

/// Return the amount of a column's unit per unit of the kernel's number. Not for units that differ by device.
pub(super) fn factor(each: Each) -> u64 {
    match each {
        Each::One | Each::Mtu => 1,
        Each::Tick => TICK_NS,
        Each::Page => page_bytes(),
        Each::Sector => 512,
        Each::Millisecond => 1_000_000,
        Each::Microsecond => 1000,
    }
}

pub(super) fn page_bytes() -> u64 {
    // SAFETY: no pointers; it is known on every Linux.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::table::find;

    #[test]
    fn names_with_a_star() {
        assert!(is_called("cpu0.user", "cpu*.user") && !is_called("cpu.user", "cpu*.user"));
        assert!(is_called("allocstall_dma", "allocstall_*") && !is_called("allocstall", "allocstall_*"));
        assert!(is_called("intr", "intr") && !is_called("intr2", "intr"));
    }

    #[test]
    fn every_source_that_is_read_exists_and_is_read_once() {
        for (index, name) in SOURCES.iter().enumerate() {
            assert!(find(name).is_some(), "{name}");
            assert!(!SOURCES[..index].contains(name), "{name}");
        }
    }

    #[test]
    fn a_short_reading_has_whatever_the_columns_take() {
        let begin = beginnings("vmstat");
        assert!(begin.contains(&"allocstall") && !begin.contains(&"allocstall_"), "{begin:?}");
        for row in TABLE.iter().filter(|row| row.source == "vmstat") {
            for name in row.take.names() {
                assert!(begin.iter().any(|start| name.starts_with(start)), "{name}");
            }
        }
    }
}
