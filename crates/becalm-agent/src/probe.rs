//! Readings of the machine's cheap sources as a digest, and the cost of a reading.

use becalm_core::load::counted::SOURCES;
use becalm_core::load::digest::Digest;
use becalm_core::load::machine::Machine;
use becalm_core::load::own_cpus::{Cpu, Finder};
use becalm_core::source::file::Place;
use becalm_core::source::snapshot::Snapshot;
use becalm_core::source::table::find;
use becalm_core::source::Reader;
use becalm_core::time::Clock;

/// A reader of the sources of a record, whose files it opens at the first reading.
pub struct Probe {
    place: Place,
    open: Option<(Reader, Machine)>,
    snapshot: Snapshot,
    finder: Finder,
    /// The smoothed CPU time of a reading, ns; 0 before the first. A disturbed reading has little weight.
    pub price_ns: i64,
}

impl Probe {
    /// Create a probe of a machine that was not read yet.
    pub fn new(place: Place) -> Self {
        Self { place, open: None, snapshot: Snapshot::default(), finder: Finder::default(), price_ns: 0 }
    }

    /// Read the cheap sources now, and return the digest with the CPU time that it took, ns; the first one
    /// takes more.
    pub fn read(&mut self) -> (Digest, i64) {
        let place = &self.place;
        let begun = place.clock.cpu_ns();
        let (reader, machine) = self.open.get_or_insert_with(|| {
            let mut reader = Reader::new(place, SOURCES.iter().filter_map(|name| find(name)));
            // The first snapshot opens the files.
            reader.snapshot();
            (reader, Machine::default())
        });
        let warm = place.clock.cpu_ns();
        reader.sample(&mut self.snapshot);
        let digest = machine.digest(&self.snapshot);
        let end = place.clock.cpu_ns();
        let price = end - warm;
        self.price_ns =
            if self.price_ns == 0 { price } else { (3 * self.price_ns + price.min(2 * self.price_ns)) / 4 };
        (digest, end - begun)
    }

    /// Return the activity of each CPU by the last reading.
    pub fn cpus(&mut self) -> Vec<Cpu> {
        self.finder.cpus(&self.snapshot)
    }

    /// Return why a source had no data at all at the last reading; None if it had some.
    pub fn lacks(&self, source: &str) -> Option<String> {
        self.snapshot.section(source)?.absent()
    }

    /// Return why a source had no data at the last reading, or not all.
    pub fn absent(&self, source: &str) -> Option<String> {
        let section = self.snapshot.section(source)?;
        let missing = || (!section.missing.is_empty()).then(|| section.missing.join("; "));
        section.absent().or_else(missing).or_else(|| Some("this machine does not count it".to_owned()))
    }
}
