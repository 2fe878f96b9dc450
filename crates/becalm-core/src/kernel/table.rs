//! The table of kernels. One more is a file and a row.
//!
//! Ranks go by what the kernels are models of: pointer chase (429.mcf), triad (470.lbm), gather (433.milc), stride
//! (462.libquantum), branchy table walk (403.gcc, 445.gobmk), float loop (the quiet ones).

use super::{
    branchy, chase, count, float, gather, of_size, size, stride, triad, work, Parameter, Row, Unit, Usual,
};

/// All kernels, in the order of documents.
pub const TABLE: &[Row] = &[
    Row {
        name: "chase",
        what: "follows a random cycle through memory, each load naming the next",
        pressure: 2,
        sensitivity: 5,
        why: "each load waits for the one before it, so every line that others push out of the cache is waited for in full",
        parameters: &[size(1, 2, "of the cycle"), work(1_200_000, "steps")],
        memory: of_size,
        run: chase::run,
    },
    Row {
        name: "triad",
        what: "computes a = b + 3·c over three long arrays",
        pressure: 5,
        sensitivity: 3,
        why: "it moves as many lines as the memory gives; it lacks only bandwidth that others take",
        parameters: &[size(3, 1, "of the three arrays together"), work(120_000_000, "elements")],
        memory: of_size,
        run: triad::run,
    },
    Row {
        name: "gather",
        what: "reads words at random places that do not wait for each other",
        pressure: 3,
        sensitivity: 4,
        why: "many misses are under way at once, each of another line; of those that hit, others take some",
        parameters: &[size(1, 1, "of the table"), work(12_000_000, "reads")],
        memory: of_size,
        run: gather::run,
    },
    Row {
        name: "stride",
        what: "reads a word of every so many bytes, from end to end",
        pressure: 4,
        sensitivity: 2,
        why: "lines pass through the cache and are hardly used; those to come are mostly known",
        parameters: &[
            size(2, 1, "of the array"),
            work(20_000_000, "reads"),
            Parameter {
                name: "step",
                unit: Unit::Bytes,
                least: 8,
                usual: Usual::Number(256),
                meaning: "from one read to the next",
            },
        ],
        memory: of_size,
        run: stride::run,
    },
    Row {
        name: "branchy",
        what: "walks through a table whose entries decide by branches what is done next",
        pressure: 1,
        sensitivity: 1,
        why: "it waits for branches that could not be known, more than for its small table",
        parameters: &[size(1, 16, "of the table"), work(8_000_000, "steps")],
        memory: of_size,
        run: branchy::run,
    },
    Row {
        name: "float",
        what: "multiplies and subtracts numbers that stay in the first-level cache",
        pressure: 0,
        sensitivity: 0,
        why: "it neither takes anything of what is shared nor misses it",
        parameters: &[count("work", 800_000_000, "steps of x = 3.75·x·(1 − x)")],
        memory: |_| 0,
        run: float::run,
    },
];

/// The row of a name.
pub fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

#[cfg(test)]
pub mod tests {
    use super::super::given::Given;
    use super::*;

    /// What a kernel computes.
    pub fn checksum(name: &str, asked: &[(&str, u64)]) -> u64 {
        let asked: Vec<(String, u64)> =
            asked.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let given = Given::of(row(name).unwrap(), &asked, 1 << 20, 1 << 30).unwrap();
        let done = (given.row.run)(&given);
        assert_eq!(done.work, given.number("work"));
        done.checksum
    }

    #[test]
    fn every_row_says_what_it_is_and_computes_the_same_each_time() {
        for row in TABLE {
            assert!(row.what.len() > 20 && row.why.len() > 20, "{}", row.name);
            assert!(row.pressure <= 5 && row.sensitivity <= 5, "{}", row.name);
            assert!(
                row.parameters.iter().all(|each| each.least > 0 && !each.meaning.is_empty()),
                "{}",
                row.name
            );
            let small: Vec<(&str, u64)> = row
                .parameters
                .iter()
                .map(|each| (each.name, if each.unit == Unit::Bytes { each.least.max(64) } else { 1000 }))
                .collect();
            let more: Vec<(&str, u64)> = small
                .iter()
                .map(|(name, value)| (*name, if *name == "work" { 1001 } else { *value }))
                .collect();
            assert_eq!(checksum(row.name, &small), checksum(row.name, &small), "{}", row.name);
            assert_ne!(checksum(row.name, &more), 0, "{}", row.name);
        }
    }

    #[test]
    fn ranks_are_told_apart() {
        let ranks = |of: fn(&Row) -> u8| {
            let mut found: Vec<u8> = TABLE.iter().take(6).map(of).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(ranks(|row| row.pressure), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ranks(|row| row.sensitivity), [0, 1, 2, 3, 4, 5]);
    }
}
