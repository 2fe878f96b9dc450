//! The table of kernels. A new one is a file and a row.
//!
//! The ranks follow those of the programs that the kernels model: pointer chase (429.mcf), triad (470.lbm),
//! gather (433.milc), stride (462.libquantum), branchy table walk (403.gcc, 445.gobmk), float loop (the quiet
//! ones).

use super::{
    branchy, change, chase, count, cpuburner, float, gather, matrixmult, memeater, of_size, phases, size,
    stride, triad, work, Parameter, Row, Unit, Usual, ENDLESS, MARKS,
};

/// All kernels, in the order of documents.
pub const TABLE: &[Row] = &[
    Row {
        name: "chase",
        what: "follows a random cycle through memory, each load naming the next",
        pressure: 2,
        sensitivity: 5,
        why: "each load waits for the one before it, so every line that others push out of the cache is waited for in full",
        parameters: &[size(1, 2, "size of the cycle"), work(1_200_000, "number of steps")],
        memory: of_size,
        run: chase::run,
    },
    Row {
        name: "triad",
        what: "computes a = b + 3·c over three long arrays",
        pressure: 5,
        sensitivity: 3,
        why: "it moves as many lines as the memory gives; it lacks only bandwidth that others take",
        parameters: &[size(3, 1, "size of the three arrays together"), work(120_000_000, "number of elements")],
        memory: of_size,
        run: triad::run,
    },
    Row {
        name: "gather",
        what: "reads words at random places that do not wait for each other",
        pressure: 3,
        sensitivity: 4,
        why: "many misses are under way at once, each of another line; of those that hit, others take some",
        parameters: &[size(1, 1, "size of the table"), work(12_000_000, "number of reads")],
        memory: of_size,
        run: gather::run,
    },
    Row {
        name: "stride",
        what: "reads a word at each step of this many bytes, from end to end",
        pressure: 4,
        sensitivity: 2,
        why: "lines pass through the cache and are hardly used; those to come are mostly known",
        parameters: &[
            size(2, 1, "size of the array"),
            work(20_000_000, "number of reads"),
            Parameter {
                name: "step",
                unit: Unit::Bytes,
                least: 8,
                usual: Usual::Number(256),
                meaning: "distance from one read to the next",
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
        parameters: &[size(1, 16, "size of the table"), work(8_000_000, "number of steps")],
        memory: of_size,
        run: branchy::run,
    },
    Row {
        name: "float",
        what: "multiplies and subtracts numbers that stay in the first-level cache",
        pressure: 0,
        sensitivity: 0,
        why: "it neither takes anything of what is shared nor misses it",
        parameters: &[count("work", 800_000_000, "number of steps of x = 3.75·x·(1 − x)")],
        memory: |_| 0,
        run: float::run,
    },
    // These are from Tabere 2013, "Migration Sweetspots"; their misses over time are known.
    Row {
        name: "cpuburner",
        what: "computes in registers and touches no memory",
        pressure: 0,
        sensitivity: 0,
        why: "nothing that it does leaves the core: it never misses",
        parameters: &[work(60_000_000, "number of steps"), ENDLESS],
        memory: |_| 0,
        run: cpuburner::run,
    },
    Row {
        name: "memeater",
        what: "increments every word of a buffer, from end to end and again",
        pressure: 5,
        sensitivity: 3,
        why: "all of its lines are read, changed and written back: it misses all the time",
        parameters: &[size(2, 1, "size of the buffer"), work(150_000_000, "number of increments"), ENDLESS],
        memory: of_size,
        run: memeater::run,
    },
    Row {
        name: "change",
        what: "is memeater and cpuburner in turn, as a signal of a timer says; a mark before each turn",
        pressure: 5,
        sensitivity: 2,
        why: "it presses as memeater does for half of the time, and not at all in between",
        parameters: &[
            size(2, 1, "size of the buffer"),
            Parameter {
                name: "period",
                unit: Unit::Time,
                least: 1_000_000,
                usual: Usual::Number(2_000_000_000),
                meaning: "length of a turn; in ns without a unit",
            },
            count("turns", 2, "number of turns, the first with memory"),
            ENDLESS,
            MARKS,
        ],
        memory: of_size,
        run: change::run,
    },
    Row {
        name: "matrixmult",
        what: "multiplies two matrices of 4-byte integers, each time into a new result; a mark before each product",
        pressure: 2,
        sensitivity: 3,
        why: "it misses at the beginning of each product, then hits where three matrices fit into the cache",
        parameters: &[count("n", 250, "number of rows, and of columns"), count("repeats", 8, "number of products"), MARKS],
        memory: matrixmult::memory,
        run: matrixmult::run,
    },
    Row {
        name: "phases",
        what: "reads the lines of some data again and again, then those of other data; a mark before each phase",
        pressure: 1,
        sensitivity: 1,
        why: "it misses once a line at the beginning of each phase, and hits where its data fits into the cache",
        parameters: &[
            Parameter {
                name: "size",
                unit: Unit::Bytes,
                least: 4096,
                usual: Usual::Number(128 << 10),
                meaning: "size of the data of a phase",
            },
            count("sweeps", 200, "number of times that a phase reads its data"),
            count("phases", 500, "number of phases"),
            MARKS,
        ],
        memory: phases::memory,
        run: phases::run,
    },
];

/// Return the row of a name.
pub fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

#[cfg(test)]
pub mod tests {
    use super::super::given::Given;
    use super::*;

    /// Return the checksum that a kernel computes.
    pub fn checksum(name: &str, asked: &[(&str, u64)]) -> u64 {
        let asked: Vec<(String, u64)> =
            asked.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let given = Given::of(row(name).unwrap(), &asked, 1 << 20, 1 << 30).unwrap();
        let done = (given.row.run)(&given);
        assert!(
            !given.row.parameters.iter().any(|each| each.name == "work") || done.work == given.number("work")
        );
        done.checksum
    }

    #[test]
    fn every_row_has_a_description_and_computes_the_same_each_time() {
        for row in TABLE {
            assert!(row.what.len() > 20 && row.why.len() > 20, "{}", row.name);
            assert!(row.pressure <= 5 && row.sensitivity <= 5, "{}", row.name);
            assert!(row.parameters.iter().all(|each| !each.meaning.is_empty()), "{}", row.name);
            // A kernel whose work is given as a time computes something else each time.
            if row.parameters.iter().any(|each| each.unit == Unit::Time) {
                continue;
            }
            let small = |count: u64| -> Vec<(&str, u64)> {
                let numbers =
                    row.parameters.iter().filter(|each| matches!(each.unit, Unit::Bytes | Unit::Count));
                let value = |each: &Parameter| match (each.unit, each.name) {
                    (Unit::Bytes, _) => each.least.max(64),
                    (_, "work") => 100 + count,
                    _ => 5 + count,
                };
                numbers.map(|each| (each.name, value(each))).collect()
            };
            assert_eq!(checksum(row.name, &small(0)), checksum(row.name, &small(0)), "{}", row.name);
            assert_ne!(checksum(row.name, &small(0)), checksum(row.name, &small(1)), "{}", row.name);
        }
    }

    #[test]
    fn ranks_are_distinguished() {
        let ranks = |of: fn(&Row) -> u8| {
            let mut found: Vec<u8> = TABLE.iter().take(6).map(of).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(ranks(|row| row.pressure), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ranks(|row| row.sensitivity), [0, 1, 2, 3, 4, 5]);
    }
}
