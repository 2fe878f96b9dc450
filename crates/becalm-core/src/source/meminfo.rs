//! The file `/proc/meminfo`: the use of memory (proc_meminfo(5)). All values are states, in KiB where the
//! file has "kB".

use super::bytes::{lines, split_once, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{Kind, Record};

struct MemInfo(Kept);

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(MemInfo(Kept::new(place, "proc/meminfo")))
}

impl Source for MemInfo {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Some(text) = record.text(&mut self.0, buffer) else { return };
        for (name, value) in lines(text).filter_map(|line| split_once(line, b':')) {
            record.value(&[name], Kind::State, Words(value).number());
        }
    }
}
