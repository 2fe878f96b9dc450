//! A repeated reading of the sources of one machine.

use std::sync::Arc;

use super::file::{Buffer, Place};
use super::interface::Source;
use super::layout::{Layout, Record};
use super::snapshot::{Section, Snapshot};
use super::table::{Row, TABLE};
use crate::time::{AnyClock, Clock};

/// Sources of one machine, open for reading.
pub struct Reader {
    sources: Vec<Open>,
    buffer: Buffer,
    clock: AnyClock,
}

struct Open {
    name: &'static str,
    source: Box<dyn Source>,
    layout: Arc<Layout>,
}

impl Reader {
    /// Open all sources of the table.
    pub fn all(place: &Place) -> Self {
        Self::new(place, TABLE.iter())
    }

    /// Open some sources, which are read in this order.
    pub fn new<'r>(place: &Place, rows: impl Iterator<Item = &'r Row>) -> Self {
        let open = |row: &Row| Open { name: row.name, source: (row.open)(place), layout: Arc::default() };
        Self { sources: rows.map(open).collect(), buffer: Buffer::default(), clock: place.clock.clone() }
    }

    /// Take a sample into a snapshot, and replace its content.
    pub fn sample(&mut self, into: &mut Snapshot) {
        let Snapshot { sections, values } = into;
        values.clear();
        sections.truncate(self.sources.len());
        for (index, open) in self.sources.iter_mut().enumerate() {
            if sections.len() == index {
                sections.push(Section {
                    name: open.name,
                    at_ns: 0,
                    took_ns: 0,
                    missing: Vec::new(),
                    layout: Arc::clone(&open.layout),
                    first: 0,
                    len: 0,
                });
            }
            let section = &mut sections[index];
            section.missing.clear();
            section.name = open.name;
            section.first = values.len();
            section.at_ns = self.clock.now_ns();
            let mut record = Record::new(values, &mut open.layout, &mut section.missing);
            open.source.read(&mut self.buffer, &mut record);
            record.finish();
            section.took_ns = self.clock.now_ns() - section.at_ns;
            section.len = values.len() - section.first;
            if !Arc::ptr_eq(&section.layout, &open.layout) {
                section.layout = Arc::clone(&open.layout);
            }
        }
    }

    /// Take a sample into a new snapshot.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut made = Snapshot::default();
        self.sample(&mut made);
        made
    }
}
