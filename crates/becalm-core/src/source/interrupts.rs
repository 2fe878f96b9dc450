//! The files `/proc/interrupts` and `/proc/softirqs`: the number of interrupts by source and CPU
//! (proc_interrupts(5)).

use super::bytes::{lines, number, split_once, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter32, Column, Columns, Kind, Record};

/// The column of lines such as "ERR", which have one number for the whole machine.
static ALL: [Column; 1] = [counter32("all")];

struct Interrupts {
    file: Kept,
    /// The CPUs of the header, which does not include those that are offline.
    cpus: Vec<u32>,
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(Interrupts { file: Kept::new(place, "proc/interrupts"), cpus: Vec::new() })
}

/// Create the source of soft interrupts, without opening anything yet.
pub fn open_soft(place: &Place) -> Box<dyn Source> {
    Box::new(Interrupts { file: Kept::new(place, "proc/softirqs"), cpus: Vec::new() })
}

impl Source for Interrupts {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Some(text) = record.text(&mut self.file, buffer) else { return };
        let mut lines = lines(text);
        let header = lines.next().unwrap_or_default();
        self.cpus.clear();
        for word in Words(header) {
            let Some(cpu) = word.strip_prefix(b"CPU").and_then(number) else { return };
            self.cpus.push(u32::try_from(cpu).unwrap_or(u32::MAX));
        }
        record.cpus(&self.cpus);
        lines.for_each(|line| row(line, self.cpus.len(), record));
    }
}

fn row(line: &[u8], cpus: usize, record: &mut Record<'_>) {
    let Some((name, rest)) = split_once(line, b':') else { return };
    let name = name.trim_ascii();
    let mut words = Words(rest);
    let Some(first) = words.number() else { return };
    if words.rest().is_empty() && cpus != 1 {
        record.row(&[name], Columns::Fixed(&ALL))[0] = first;
        return;
    }
    // The device is part of the key: its number may be given to another device between two readings.
    let device = if number(name).is_some() { device(Words(rest), cpus) } else { b"" };
    let dash: &[u8] = if device.is_empty() { b"" } else { b":" };
    let row = record.row(&[name, dash, device], Columns::Cpus(Kind::Counter32));
    if row.is_empty() {
        return;
    }
    row[0] = first;
    for place in &mut row[1..] {
        // The numbers end at the first word that is not a number: it belongs to the description.
        let Some(number) = words.number() else { break };
        *place = number;
    }
}

/// Return the last word of the description: the device, or the last of several that share the interrupt.
fn device(words: Words<'_>, cpus: usize) -> &[u8] {
    words.skip(cpus).last().unwrap_or_default()
}
