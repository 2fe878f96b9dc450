//! What else the machine did: raw, cumulative numbers of the kernel, and what changed between two readings.
//!
//! `table` lists the sources, one file each. A `Reader` keeps their files open and takes a `Snapshot`: a flat list of
//! numbers that a `layout` names. `snapshot::difference` tells how far each counter moved, exactly or not at all with a
//! reason. `sampler` takes states at a rate that costs next to nothing. `file` and `bytes` read; `membership` finds the
//! process's control groups; `process` sums one process's threads into an `account`; `processes` looks at all of them; `pid_stat` parses what both read; `taskstats` asks over `netlink` what tasks did that have ended; `beside` remembers what belongs to a row. Once warm, a sample allocates nothing.

pub mod account;
mod beside;
mod bytes;
mod cgroup;
mod diskstats;
pub mod file;
mod frequency;
pub mod group;
mod interrupts;
pub mod layout;
mod loadavg;
pub(crate) mod membership;
mod meminfo;
mod netdev;
mod netlink;
mod nfs;
pub mod pace;
pub mod pid_stat;
pub mod process;
pub mod processes;
mod psi;
pub mod ring;
pub mod sampler;
mod schedstat;
mod series;
pub mod snapshot;
mod stat;
pub mod table;
pub mod taskstats;
#[cfg(test)]
mod tests;
mod vmstat;

use std::sync::Arc;

use crate::exec::now_ns;
use file::{Buffer, Place};
use layout::{Layout, Record};
use snapshot::{Section, Snapshot};
use table::{Row, Source, TABLE};

/// A tick of /proc/stat and /proc/PID/stat: USER_HZ is 100 on every architecture of today
/// (include/asm-generic/param.h).
pub const TICK_NS: u64 = 10_000_000;

/// Sources of one machine, open for reading.
pub struct Reader {
    sources: Vec<Open>,
    buffer: Buffer,
}

struct Open {
    name: &'static str,
    source: Box<dyn Source>,
    layout: Arc<Layout>,
}

impl Reader {
    /// All sources of the table.
    pub fn all(place: &Place) -> Self {
        Self::new(place, TABLE.iter())
    }

    /// Some sources, read in this order.
    pub fn new<'r>(place: &Place, rows: impl Iterator<Item = &'r Row>) -> Self {
        let open = |row: &Row| Open { name: row.name, source: (row.open)(place), layout: Arc::default() };
        Self { sources: rows.map(open).collect(), buffer: Buffer::default() }
    }

    /// Take a sample into a snapshot, whatever was in it before.
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
            section.at_ns = now_ns();
            let mut record = Record::new(values, &mut open.layout, &mut section.missing);
            open.source.read(&mut self.buffer, &mut record);
            record.finish();
            section.took_ns = now_ns() - section.at_ns;
            section.len = values.len() - section.first;
            if !Arc::ptr_eq(&section.layout, &open.layout) {
                section.layout = Arc::clone(&open.layout);
            }
        }
    }

    /// A new snapshot.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut made = Snapshot::default();
        self.sample(&mut made);
        made
    }
}
