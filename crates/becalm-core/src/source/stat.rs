//! The file `/proc/stat`: the time of the CPUs by kind, and counts of the whole machine (proc_stat(5)).

use super::bytes::{lines, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter, counter32, Column, Kind, Record};

/// The times in ticks of USER_HZ, 1/100 s. Guest time is also in user, guest_nice also in nice.
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

/// The sum of all interrupts that have a number: those of devices. Each is printed with 32 bits
/// (show_all_irqs).
static DEVICES: [Column; 1] = [counter32("devices")];

/// The software interrupts by kind, in the kernel's order (include/linux/interrupt.h); 32 bits of each are
/// printed.
static KINDS: [Column; 10] = [
    counter32("hi"),
    counter32("timer"),
    counter32("net_tx"),
    counter32("net_rx"),
    counter32("block"),
    counter32("irq_poll"),
    counter32("tasklet"),
    counter32("sched"),
    counter32("hrtimer"),
    counter32("rcu"),
];

struct Stat(Kept);

/// Create the source, without opening anything yet.
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
                // The first number is the sum of the others and of interrupts without a number: the CPUs' own
                // timers and calls.
                b"intr" => {
                    record.value(&[key], Kind::Counter, words.number());
                    record.numbers(&[key], &DEVICES, std::iter::once(sum(words)));
                }
                b"softirq" => {
                    record.value(&[key], Kind::Counter, words.number());
                    let kinds = std::iter::from_fn(|| Some(words.number())).take(KINDS.len());
                    record.numbers(&[key], &KINDS, kinds);
                }
                b"ctxt" | b"processes" => record.value(&[key], Kind::Counter, words.number()),
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

/// Add all numbers of the rest of a line, each of 32 bits. So is their sum, which would otherwise lose 2^32
/// whenever one of them begins again; None when there are none, or when the line contains anything else.
fn sum(mut words: Words<'_>) -> Option<u64> {
    let mut sum = words.number()?;
    while !words.rest().is_empty() {
        sum = sum.wrapping_add(words.number()?);
    }
    Some(sum & u64::from(u32::MAX))
}

/// Return whether a key is "cpu", the sum over all CPUs that were ever online, or one such as "cpu12".
fn is_cpu(key: &[u8]) -> bool {
    key.strip_prefix(b"cpu").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::change;
    use super::*;

    #[test]
    fn a_wrapped_interrupt_count_still_adds_up() {
        let (before, after) = (sum(Words(b" 4294967290 3000000000 0")), sum(Words(b" 4 3000000007 0")));
        assert_eq!(change(Kind::Counter32, before, after), Ok(17));
        assert_eq!((sum(Words(b"")), sum(Words(b" 1 x"))), (None, None));
    }
}
