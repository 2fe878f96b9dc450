//! `/proc/stat`: where the CPUs' time went, and counts of the whole machine (proc_stat(5)).

use super::bytes::{lines, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter, Column, Kind, Record};

/// In ticks of USER_HZ, 1/100 s. Guest time is also in user, guest_nice also in nice.
static TIMES: [Column; 10] = [
    counter("user"),
    counter("nice"),
    counter("system"),
    counter("idle"),
    counter("iowait"),
    counter("irq"),
    counter("softirq"),
    counter("steal"),
    counter("guest"),
    counter("guest_nice"),
];

struct Stat(Kept);

/// Opens nothing yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(Stat(Kept::new(place, "proc/stat")))
}

impl Source for Stat {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Some(text) = record.text(&mut self.0, buffer) else { return };
        for line in lines(text) {
            let mut words = Words(line);
            let Some(key) = words.next() else { continue };
            match key {
                // Of "intr" and "softirq" the first number, which is the sum; the rest are the sources of those names.
                b"intr" | b"ctxt" | b"processes" | b"softirq" => {
                    record.value(&[key], Kind::Counter, words.number())
                }
                b"procs_running" | b"procs_blocked" => record.value(&[key], Kind::State, words.number()),
                _ if is_cpu(key) => record.numbers(
                    &[key],
                    &TIMES,
                    std::iter::from_fn(|| Some(words.number())).take(TIMES.len()),
                ),
                _ => {}
            }
        }
    }
}

/// "cpu", the sum over all that were ever online, or "cpu12".
fn is_cpu(key: &[u8]) -> bool {
    key.strip_prefix(b"cpu").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}
