//! The resource use of the process's own control groups: version 2 (Documentation/admin-guide/cgroup-v2.rst)
//! and 1 (Documentation/admin-guide/cgroup-v1/).

use super::bytes::{lines, number, split_once, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter, Column, Columns, Kind, Record, UNKNOWN};
use super::membership::{Group, Membership};

static IO: [Column; 6] = [
    counter("rbytes"),
    counter("wbytes"),
    counter("rios"),
    counter("wios"),
    counter("dbytes"),
    counter("dios"),
];

/// The format of a file.
#[derive(Clone, Copy)]
enum How {
    /// Lines "name number"; the function returns the kind of each.
    Pairs(fn(&[u8]) -> Kind),
    /// One number.
    Single(Kind),
    /// Lines "254:0 rbytes=1 wbytes=2 …".
    Devices,
    /// Lines "254:0 Read 1", "254:0 Write 2", …, "Total 3".
    DevicesV1,
}

/// The files of version 2: name, prefix of the names of their numbers, and format.
const UNIFIED: [(&str, &str, How); 6] = [
    ("cpu.stat", "v2.cpu.", How::Pairs(|_| Kind::Counter)),
    ("memory.stat", "v2.memory.", How::Pairs(memory)),
    ("memory.events", "v2.memory.events.", How::Pairs(|_| Kind::Counter)),
    ("memory.current", "v2.memory.current", How::Single(Kind::State)),
    ("memory.swap.current", "v2.memory.swap.current", How::Single(Kind::State)),
    ("io.stat", "v2.io.", How::Devices),
];

/// The files of version 1, each with its controller first.
const CONTROLLERS: [(&str, &str, &str, How); 7] = [
    ("cpu", "cpu.stat", "v1.cpu.", How::Pairs(|_| Kind::Counter)),
    ("cpuacct", "cpuacct.usage", "v1.cpuacct.usage_ns", How::Single(Kind::Counter)),
    ("cpuacct", "cpuacct.stat", "v1.cpuacct.ticks.", How::Pairs(|_| Kind::Counter)),
    ("memory", "memory.stat", "v1.memory.", How::Pairs(memory)),
    ("memory", "memory.usage_in_bytes", "v1.memory.usage_bytes", How::Single(Kind::State)),
    ("memory", "memory.failcnt", "v1.memory.failcnt", How::Single(Kind::Counter)),
    ("blkio", "blkio.throttle.io_service_bytes_recursive", "v1.blkio.bytes.", How::DevicesV1),
];

/// The beginnings of the names of counters in memory.stat; the others are amounts of memory.
const EVENTS: [&[u8]; 7] = [b"pg", b"workingset_", b"thp_", b"zswp", b"swp", b"pswp", b"numa_"];

struct OwnGroup {
    place: Place,
    membership: Membership,
    files: Vec<(Kept, &'static str, How)>,
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(OwnGroup { place: place.clone(), membership: Membership::new(place), files: Vec::new() })
}

impl Source for OwnGroup {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        match self.membership.refresh(buffer) {
            Ok(true) => self.find(),
            Ok(false) => {}
            Err(reason) => {
                record.missing(reason);
                return;
            }
        }
        for (file, prefix, how) in &mut self.files {
            let Some(text) = record.text(file, buffer) else { continue };
            take(text, prefix.as_bytes(), *how, record);
        }
    }
}

impl OwnGroup {
    fn find(&mut self) {
        self.files.clear();
        for Group { controllers, directory, .. } in self.membership.groups() {
            let file = |name: &str| Kept::new(&self.place, &format!("{directory}/{name}"));
            if controllers.is_empty() {
                self.files.extend(UNIFIED.map(|(name, prefix, how)| (file(name), prefix, how)));
            }
            for (controller, name, prefix, how) in CONTROLLERS {
                if controllers.iter().any(|each| each == controller) {
                    self.files.push((file(name), prefix, how));
                }
            }
        }
    }
}

fn take(text: &[u8], prefix: &[u8], how: How, record: &mut Record<'_>) {
    for line in lines(text).filter(|line| !line.is_empty()) {
        let mut words = Words(line);
        let Some(first) = words.next() else { continue };
        match how {
            How::Single(kind) => return record.value(&[prefix], kind, number(first)),
            How::Pairs(kind) => record.value(&[prefix, first], kind(first), words.number()),
            How::Devices => {
                let row = record.row(&[prefix, first], Columns::Fixed(&IO));
                for (name, value) in words.filter_map(|word| split_once(word, b'=')) {
                    if let Some(column) = IO.iter().position(|column| column.name.as_bytes() == name) {
                        row[column] = number(value).unwrap_or(UNKNOWN);
                    }
                }
            }
            How::DevicesV1 => {
                if let (Some(what), Some(value)) = (words.next(), words.next()) {
                    record.value(&[prefix, first, b".", what], Kind::Counter, number(value));
                }
            }
        }
    }
}

fn memory(name: &[u8]) -> Kind {
    let name = name.strip_prefix(b"total_").unwrap_or(name);
    let event = EVENTS.iter().any(|prefix| name.starts_with(prefix));
    if event {
        Kind::Counter
    } else {
        Kind::State
    }
}
