//! Rows of the values of successive samples, always in the same columns.

use std::collections::HashMap;
use std::sync::Arc;

use super::interface::Rows;
use super::layout::{Layout, UNKNOWN};
use super::snapshot::{Section, Snapshot};

/// Rows with the same columns from every sample, also after the machine has changed.
pub struct Series {
    names: HashMap<String, usize>,
    layouts: Vec<Arc<Layout>>,
    /// The place of each column among the sample's values.
    places: Vec<Option<usize>>,
    row: Vec<u64>,
}

impl Series {
    /// Use the columns of the first sample.
    pub fn new(names: &[String], first: &Snapshot) -> Self {
        let columns = names.iter().enumerate().map(|(column, name)| (name.clone(), column)).collect();
        let mut made = Self {
            names: columns,
            layouts: Vec::new(),
            places: vec![None; names.len()],
            row: vec![UNKNOWN; names.len() + 1],
        };
        made.find(first);
        made
    }

    fn find(&mut self, snapshot: &Snapshot) {
        self.layouts = snapshot.sections.iter().map(|section| Arc::clone(&section.layout)).collect();
        self.places.fill(None);
        for (place, name) in qualified(snapshot).iter().enumerate() {
            if let Some(column) = self.names.get(name) {
                self.places[*column] = Some(place);
            }
        }
    }
}

impl Rows for Series {
    fn row(&mut self, snapshot: &Snapshot) -> &[u64] {
        let same = |(section, layout): (&Section, &Arc<Layout>)| Arc::ptr_eq(&section.layout, layout);
        if !snapshot.sections.iter().zip(&self.layouts).all(same) {
            self.find(snapshot);
        }
        self.row[0] = snapshot.sections.first().map_or(UNKNOWN, |section| section.at_ns as u64);
        for (value, place) in self.row[1..].iter_mut().zip(&self.places) {
            *value = place.map_or(UNKNOWN, |place| snapshot.values[place]);
        }
        &self.row
    }
}

/// Return the names of all values of a snapshot, prefixed with their sources, in the order of the values.
pub fn qualified(snapshot: &Snapshot) -> Vec<String> {
    let sections = snapshot.sections.iter();
    let names = sections.flat_map(|section| {
        let names = section.layout.names().take(section.len);
        names.map(|(name, _)| format!("{}.{name}", section.name))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::file::Place;
    use crate::source::table::find;
    use crate::source::Reader;
    use std::fs;

    #[test]
    fn a_series_keeps_its_columns_when_the_machine_changes() {
        let root = std::env::temp_dir().join(format!("becalm-series-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/pressure")).unwrap();
        let write = |cpu: u32| {
            fs::write(root.join("proc/loadavg"), format!("0.0{cpu} 0.00 0.00 {cpu}/9 1\n")).unwrap();
        };
        write(1);
        fs::write(root.join("proc/pressure/io"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n").unwrap();
        let mut reader =
            Reader::new(&Place::new(&root), ["psi", "loadavg"].iter().filter_map(|name| find(name)));
        let first = reader.snapshot();
        let names = qualified(&first);
        let column = |name: &str| names.iter().position(|found| found == name).unwrap() + 1;
        let mut series = Series::new(&names, &first);
        assert_eq!(series.row(&first)[column("psi.io.some.total_us")], 7);
        fs::remove_file(root.join("proc/pressure/io")).unwrap();
        write(2);
        let second = reader.snapshot();
        let row = series.row(&second);
        assert_eq!(row[column("psi.io.some.total_us")], UNKNOWN);
        assert_eq!(row[column("loadavg.running")], 2);
        fs::remove_dir_all(root).unwrap();
    }
}
