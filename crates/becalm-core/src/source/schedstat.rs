//! Waiting on run queues: `/proc/schedstat` of the machine and `/proc/PID/schedstat` of the process
//! (Documentation/scheduler/sched-stats.rst).

use std::sync::Arc;

use super::bytes::{lines, Words};
use super::file::{Buffer, Kept, Place, Reason};
use super::interface::Source;
use super::layout::{counter, Column, Record};

/// The fields 1 and 3 to 9 of a "cpu" line; field 2 is always zero.
static QUEUE: [Column; 8] = [
    counter("yields"),
    counter("schedules"),
    counter("schedules_idle"),
    counter("wakeups"),
    counter("wakeups_local"),
    counter("run_ns"),
    counter("wait_ns"),
    counter("slices"),
];

static TASK: [Column; 3] = [counter("run_ns"), counter("wait_ns"), counter("slices")];

/// The versions whose "cpu" lines have these nine fields; 16 and 17 changed only the lines of domains.
const VERSIONS: std::ops::RangeInclusive<u64> = 15..=17;

struct SchedStat {
    machine: Kept,
    task: Kept,
    other_version: Reason,
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(SchedStat {
        machine: Kept::new(place, "proc/schedstat"),
        task: place.own("schedstat"),
        other_version: Arc::from("/proc/schedstat has a version other than 15 to 17"),
    })
}

impl Source for SchedStat {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        if let Some(text) = record.text(&mut self.machine, buffer) {
            if version(text).is_some_and(|version| VERSIONS.contains(&version)) {
                lines(text).filter(|line| line.starts_with(b"cpu")).for_each(|line| queue(line, record));
            } else {
                record.missing(Arc::clone(&self.other_version));
            }
        }
        if let Some(text) = record.text(&mut self.task, buffer) {
            if let Some(line) = lines(text).find(|line| !line.is_empty()) {
                let mut words = Words(line);
                record.numbers(&[b"task"], &TASK, std::iter::from_fn(|| Some(words.number())).take(3));
            }
        }
    }
}

fn version(text: &[u8]) -> Option<u64> {
    Words(lines(text).next()?.strip_prefix(b"version")?).number()
}

fn queue(line: &[u8], record: &mut Record<'_>) {
    let mut words = Words(line);
    let Some(key) = words.next() else { return };
    let mut field = 0;
    let numbers = std::iter::from_fn(|| {
        field += 1;
        if field == 2 {
            words.next();
        }
        Some(words.number())
    });
    record.numbers(&[key], &QUEUE, numbers.take(QUEUE.len()));
}
