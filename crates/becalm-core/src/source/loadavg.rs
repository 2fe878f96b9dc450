//! The file `/proc/loadavg`: the cheapest reading of the run queue (proc_loadavg(5)).

use super::bytes::{hundredths, lines, number, split_once, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{Kind, Record};

struct LoadAvg(Kept);

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(LoadAvg(Kept::new(place, "proc/loadavg")))
}

impl Source for LoadAvg {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Some(text) = record.text(&mut self.0, buffer) else { return };
        let Some(line) = lines(text).find(|line| !line.is_empty()) else { return };
        let mut words = Words(line);
        for name in ["load1_hundredths", "load5_hundredths", "load15_hundredths"] {
            record.value(&[name.as_bytes()], Kind::State, words.next().and_then(hundredths));
        }
        let tasks = words.next().and_then(|word| split_once(word, b'/'));
        record.value(&[b"running"], Kind::State, tasks.and_then(|(running, _)| number(running)));
        record.value(&[b"tasks"], Kind::State, tasks.and_then(|(_, all)| number(all)));
    }
}
