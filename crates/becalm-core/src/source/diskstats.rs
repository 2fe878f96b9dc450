//! The file `/proc/diskstats`: the activity of block devices (Documentation/admin-guide/iostats.rst).

use super::bytes::{lines, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter, counter32, state, Column, Columns, Record, UNKNOWN};
use super::row_cache::RowCache;

/// The columns after major, minor and name: 11 numbers; 15 since Linux 4.18 (discards), 17 since 5.5
/// (flushes). Sectors are 512 bytes on every device. Times are printed as 32 bits of milliseconds.
static DISK: [Column; 19] = [
    counter("reads"),
    counter("reads_merged"),
    counter("sectors_read"),
    counter32("read_ms"),
    counter("writes"),
    counter("writes_merged"),
    counter("sectors_written"),
    counter32("write_ms"),
    state("in_flight"),
    counter32("busy_ms"),
    counter32("weighted_ms"),
    counter("discards"),
    counter("discards_merged"),
    counter("sectors_discarded"),
    counter32("discard_ms"),
    counter("flushes"),
    counter32("flush_ms"),
    state("whole"),
    state("physical"),
];

const WHOLE: usize = 17;

/// The smallest number of columns: shorter lines are those of partitions before Linux 2.6.25, which mean
/// other things.
const LEAST: usize = 11;

struct DiskStats {
    file: Kept,
    place: Place,
    class: RowCache<[u64; 2]>,
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    let file = Kept::new(place, "proc/diskstats");
    Box::new(DiskStats { file, place: place.clone(), class: RowCache::default() })
}

impl Source for DiskStats {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Self { file, place, class } = self;
        let Some(text) = record.text(file, buffer) else { return };
        let mut index = 0;
        for line in lines(text) {
            let mut words = Words(line);
            let Some(name) = words.nth(2) else { continue };
            let mut numbers = [UNKNOWN; WHOLE];
            let mut count = 0;
            for number in &mut numbers {
                if words.rest().is_empty() {
                    break;
                }
                *number = words.number().unwrap_or(UNKNOWN);
                count += 1;
            }
            if count < LEAST {
                continue;
            }
            let row = record.row(&[name], Columns::Fixed(&DISK));
            row[..WHOLE].copy_from_slice(&numbers);
            row[WHOLE..].copy_from_slice(&class.get(index, name, |name| classify(place, name)));
            index += 1;
        }
    }
}

/// Return whether it is a whole disk and not a partition, and whether it has a device of its own: loop, zram,
/// device mapper and RAID devices pass on what other devices count again, or have no disk at all.
fn classify(place: &Place, name: &str) -> [u64; 2] {
    let blocks = place.root().join("sys/block");
    if !blocks.is_dir() {
        return [UNKNOWN; 2];
    }
    // The slash in names such as cciss/c0d0 is an exclamation mark in sysfs.
    let block = blocks.join(name.replace('/', "!"));
    [u64::from(block.exists()), u64::from(block.join("device").exists())]
}
