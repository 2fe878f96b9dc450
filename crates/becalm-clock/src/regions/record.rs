//! A region as it is stored in a file.

use std::vec::Vec;

use super::bytes::{u16_at, u64_at};
use crate::clock::Source;
use crate::ring::Record;

/// The length of a record, in bytes.
pub(super) const BYTES: usize = 24;

/// The flag of a region that began on one processor and ended on another: their counters need not agree.
pub const MIGRATED: u16 = 1;
/// The flag of a region in which the counter went backwards: the processors' counters are out of step.
pub const OUT_OF_STEP: u16 = 2;
/// The flag of a region shorter than an empty one: its length is not meaningful.
pub const SHORTER_THAN_COST: u16 = 4;
/// The processor number where the read does not report it (Armv8, the system's clock).
pub const UNKNOWN_CPU: u16 = u16::MAX;

/// A timed region of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedRegion {
    /// The counter at the beginning.
    pub start: u64,
    /// The length in ticks; negative where the counter went backwards.
    pub ticks: i64,
    /// The index of the region's name in the header.
    pub name: u16,
    /// The processor at the beginning, [`UNKNOWN_CPU`] where it is not known.
    pub began_on: u16,
    /// The processor at the end, [`UNKNOWN_CPU`] where it is not known.
    pub ended_on: u16,
    /// The union of [`MIGRATED`], [`OUT_OF_STEP`] and [`SHORTER_THAN_COST`].
    pub flags: u16,
}

impl TimedRegion {
    /// Convert a ring's record; `cost` is the smallest cost of an empty region, in ticks.
    pub(super) fn of(record: &Record, source: Source, cost: i64) -> TimedRegion {
        let region = record.region();
        let cpu = |processor: u32| match source {
            // Linux sets TSC_AUX to the processor's number, with its node in the bits above.
            Source::TimeStampCounter => (processor & 0xfff) as u16,
            _ => UNKNOWN_CPU,
        };
        let flag = |set: bool, bit: u16| if set { bit } else { 0 };
        TimedRegion {
            start: record.begin.ticks,
            ticks: region.ticks,
            name: u16::try_from(record.id).unwrap_or(u16::MAX),
            began_on: cpu(record.begin.processor),
            ended_on: cpu(record.end.processor),
            flags: flag(region.migrated, MIGRATED)
                | flag(region.ticks < 0, OUT_OF_STEP)
                | flag((0..cost).contains(&region.ticks), SHORTER_THAN_COST),
        }
    }

    pub(super) fn put(&self, to: &mut Vec<u8>) {
        to.extend(self.start.to_le_bytes());
        to.extend(self.ticks.to_le_bytes());
        for each in [self.name, self.began_on, self.ended_on, self.flags] {
            to.extend(each.to_le_bytes());
        }
    }

    pub(super) fn read(bytes: &[u8]) -> Option<TimedRegion> {
        Some(TimedRegion {
            start: u64_at(bytes, 0)?,
            ticks: u64_at(bytes, 8)? as i64,
            name: u16_at(bytes, 16)?,
            began_on: u16_at(bytes, 18)?,
            ended_on: u16_at(bytes, 20)?,
            flags: u16_at(bytes, 22)?,
        })
    }
}
