//! The table of load columns: a row each, in the order of the agent's `loads` rows.
//!
//! Everything else about columns is derived from it: what is read and how it is added up (`counted`,
//! `machine`, `digest`), the names in the greeting, and, by `becalm-agent tables`, the store's columns,
//! Python's `Load`, Prometheus' names and docs/reference/columns.md. A new column is added at the end and is
//! not `always` known: older stores lack it.

mod devices;
mod kinds;
mod later;
mod programs;
mod record;

use super::column::Column;

/// The columns in the order of the table, part by part.
const PARTS: [&[Column]; 4] = [record::COLUMNS, devices::COLUMNS, programs::COLUMNS, later::COLUMNS];

/// The number of columns.
pub const WIDTH: usize = {
    let (mut width, mut part) = (0, 0);
    while part < PARTS.len() {
        width += PARTS[part].len();
        part += 1;
    }
    width
};

/// All columns.
pub const TABLE: &[Column] = &{
    let mut columns = [kinds::RECORD; WIDTH];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            columns[at] = PARTS[part][row];
            row += 1;
            at += 1;
        }
        part += 1;
    }
    columns
};

/// Their names, in the order of the table.
pub const NAMES: [&str; WIDTH] = {
    let mut names = [""; WIDTH];
    let mut index = 0;
    while index < WIDTH {
        names[index] = TABLE[index].name;
        index += 1;
    }
    names
};
