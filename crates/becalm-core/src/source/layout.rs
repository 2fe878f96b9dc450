//! The meaning of the numbers of a sample: rows with a key (a CPU, a disk), columns with a name and a kind.
//!
//! The layout of a source is created by its first sample and shared by all later ones. Another reading
//! compares each key with the expected one, which allocates nothing; a new layout is created only when the
//! machine has changed.

use std::sync::Arc;

use super::file::{Buffer, Kept, Reason};

/// The value that stands for an unknown one. No counter of the kernel reaches it: at 1 GHz that takes 584
/// years.
pub const UNKNOWN: u64 = u64::MAX;

/// The behaviour of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, in 64 bits: differences are exact.
    Counter,
    /// Only grows, and the kernel prints 32 bits of it: it begins again at zero after 4,294,967,295.
    Counter32,
    /// Goes up and down: its difference means nothing.
    State,
}

/// One column of a row.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, without dots; empty for rows of one value.
    pub name: &'static str,
    pub kind: Kind,
}

/// Describe a counter of 64 bits.
pub const fn counter(name: &'static str) -> Column {
    Column { name, kind: Kind::Counter }
}

/// Describe a counter of which the kernel prints 32 bits.
pub const fn counter32(name: &'static str) -> Column {
    Column { name, kind: Kind::Counter32 }
}

/// Describe a state.
pub const fn state(name: &'static str) -> Column {
    Column { name, kind: Kind::State }
}

/// The columns of a row.
#[derive(Debug, Clone, Copy)]
pub enum Columns {
    Fixed(&'static [Column]),
    /// One column for each CPU of the layout's header, all of this kind.
    Cpus(Kind),
}

static COUNTER: [Column; 1] = [counter("")];
static STATE: [Column; 1] = [state("")];

impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fixed(one), Self::Fixed(two)) => std::ptr::eq(*one, *two) || one == two,
            (Self::Cpus(one), Self::Cpus(two)) => one == two,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// The end of its key among the keys; it begins where the previous one ends.
    end: usize,
    columns: Columns,
}

/// The rows of one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layout {
    keys: Vec<u8>,
    rows: Vec<Row>,
    cpus: Vec<u32>,
}

impl Layout {
    /// Return the number of values.
    pub fn len(&self) -> usize {
        self.rows.iter().map(|row| self.width(row.columns)).sum()
    }

    /// Return whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Return names and kinds, in the order of the values.
    pub fn names(&self) -> impl Iterator<Item = (String, Kind)> + '_ {
        (0..self.rows.len()).flat_map(move |index| {
            let key = String::from_utf8_lossy(self.key(index)).into_owned();
            let columns = self.rows[index].columns;
            (0..self.width(columns)).map(move |column| match columns {
                Columns::Fixed(fixed) if fixed[column].name.is_empty() => (key.clone(), fixed[column].kind),
                Columns::Fixed(fixed) => (format!("{key}.{}", fixed[column].name), fixed[column].kind),
                Columns::Cpus(kind) => (format!("{key}.cpu{}", self.cpus[column]), kind),
            })
        })
    }

    fn width(&self, columns: Columns) -> usize {
        match columns {
            Columns::Fixed(fixed) => fixed.len(),
            Columns::Cpus(_) => self.cpus.len(),
        }
    }

    fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.rows[row - 1].end };
        &self.keys[start..self.rows[row].end]
    }

    fn is_row(&self, row: usize, key: &[&[u8]], columns: Columns) -> bool {
        if self.rows.get(row).is_none_or(|found| found.columns != columns) {
            return false;
        }
        let mut found = self.key(row);
        for part in key {
            match found.strip_prefix(*part) {
                Some(rest) => found = rest,
                None => return false,
            }
        }
        found.is_empty()
    }

    fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.keys.truncate(self.rows.last().map_or(0, |row| row.end));
    }

    fn push(&mut self, key: &[&[u8]], columns: Columns) {
        key.iter().for_each(|part| self.keys.extend_from_slice(part));
        self.rows.push(Row { end: self.keys.len(), columns });
    }
}

/// The recorder of the values of one source in one sample.
pub struct Record<'s> {
    values: &'s mut Vec<u64>,
    layout: &'s mut Arc<Layout>,
    missing: &'s mut Vec<Reason>,
    row: usize,
}

impl<'s> Record<'s> {
    /// Begin a sample: values are appended, and the layout is that of the previous sample.
    pub fn new(values: &'s mut Vec<u64>, layout: &'s mut Arc<Layout>, missing: &'s mut Vec<Reason>) -> Self {
        Self { values, layout, missing, row: 0 }
    }

    /// Add a row and return its values, all unknown at first, to be filled in. The key is given in parts.
    pub fn row(&mut self, key: &[&[u8]], columns: Columns) -> &mut [u64] {
        if !self.layout.is_row(self.row, key, columns) {
            let layout = Arc::make_mut(self.layout);
            layout.truncate(self.row);
            layout.push(key, columns);
        }
        self.row += 1;
        let start = self.values.len();
        self.values.resize(start + self.layout.width(columns), UNKNOWN);
        &mut self.values[start..]
    }

    /// Add a row of fixed columns, filled from an iterator; values that it does not yield stay unknown.
    pub fn numbers(
        &mut self,
        key: &[&[u8]],
        columns: &'static [Column],
        numbers: impl Iterator<Item = Option<u64>>,
    ) {
        let row = self.row(key, Columns::Fixed(columns));
        row.iter_mut().zip(numbers).for_each(|(place, number)| *place = number.unwrap_or(UNKNOWN));
    }

    /// Add a row of one value. Counters of which the kernel prints 32 bits have columns of their own.
    pub fn value(&mut self, key: &[&[u8]], kind: Kind, value: Option<u64>) {
        let columns = if kind == Kind::State { &STATE } else { &COUNTER };
        self.row(key, Columns::Fixed(columns))[0] = value.unwrap_or(UNKNOWN);
    }

    /// Set the CPUs of the following rows of `Columns::Cpus`, once for a sample, before its first row.
    pub fn cpus(&mut self, cpus: &[u32]) {
        if self.layout.cpus != cpus {
            let layout = Arc::make_mut(self.layout);
            layout.cpus.clear();
            layout.cpus.extend_from_slice(cpus);
        }
    }

    /// Return a file's bytes; one that cannot be read is recorded as missing.
    pub fn text<'b>(&mut self, file: &mut Kept, buffer: &'b mut Buffer) -> Option<&'b [u8]> {
        match file.read(buffer) {
            Ok(text) => Some(text),
            Err(reason) => {
                self.missing(reason);
                None
            }
        }
    }

    /// Record that something of this source is missing, with the reason.
    pub fn missing(&mut self, reason: Reason) {
        self.missing.push(reason);
    }

    /// Complete the sample: rows of the previous one that were not added again are removed.
    pub fn finish(self) {
        if self.layout.rows.len() > self.row {
            Arc::make_mut(self.layout).truncate(self.row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PAIR: [Column; 2] = [counter("a"), state("b")];

    fn take(layout: &mut Arc<Layout>, keys: &[&str]) -> Vec<u64> {
        let (mut values, mut missing) = (Vec::new(), Vec::new());
        let mut record = Record::new(&mut values, layout, &mut missing);
        for key in keys {
            record.numbers(&[b"k", key.as_bytes()], &PAIR, [Some(1)].into_iter());
        }
        record.finish();
        values
    }

    #[test]
    fn a_layout_is_shared_until_the_rows_change() {
        let mut layout = Arc::new(Layout::default());
        assert_eq!(take(&mut layout, &["1", "2"]), [1, UNKNOWN, 1, UNKNOWN]);
        let first = Arc::clone(&layout);
        take(&mut layout, &["1", "2"]);
        assert!(Arc::ptr_eq(&first, &layout));
        take(&mut layout, &["1", "3", "4"]);
        let names: Vec<String> = layout.names().map(|(name, _)| name).collect();
        assert_eq!(names, ["k1.a", "k1.b", "k3.a", "k3.b", "k4.a", "k4.b"]);
        assert_eq!((first.len(), layout.len()), (4, 6));
        take(&mut layout, &["1"]);
        assert_eq!(layout.len(), 2);
    }

    #[test]
    fn a_key_is_compared_whole() {
        let mut layout = Arc::new(Layout::default());
        take(&mut layout, &["10"]);
        take(&mut layout, &["1"]);
        assert_eq!(layout.names().next().map(|(name, _)| name).as_deref(), Some("k1.a"));
    }

    #[test]
    fn columns_of_cpus_have_the_numbers_of_the_header() {
        let mut layout = Arc::new(Layout::default());
        let (mut values, mut missing) = (Vec::new(), Vec::new());
        let mut record = Record::new(&mut values, &mut layout, &mut missing);
        record.cpus(&[0, 3]);
        record.row(&[b"LOC"], Columns::Cpus(Kind::Counter32))[1] = 7;
        record.finish();
        assert_eq!(values, [UNKNOWN, 7]);
        let names: Vec<_> = layout.names().collect();
        assert_eq!(names[1], ("LOC.cpu3".to_owned(), Kind::Counter32));
    }
}
