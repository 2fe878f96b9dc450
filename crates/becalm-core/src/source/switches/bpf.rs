//! The reader of records of the BPF program crates/becalm-agent/bpf/switches.bpf.c, which defines their form
//! (`struct record`).
//!
//! Both are built together, so there is no version; a record of another length, or of an unknown kind, is
//! left out. Each record has the number of records of its CPU for which there was no room so far, so it is
//! known between which two they are missing. The exit of a task is reported before its parent learns of it,
//! as with groups of counters. Times are of CLOCK_MONOTONIC, the only clock that all kernels offer to a
//! program; when records are read, the difference to CLOCK_MONOTONIC_RAW is added.

use std::collections::BTreeMap;

use super::parse::{Counts, KernelEvent};

/// The size of a record, bytes.
pub const BYTES: usize = 72;

/// The identifier of samples of a switch, for `Lane`.
pub const SWITCHES: u64 = SWITCH as u64;

const SWITCH: u16 = 1;
const TICK: u16 = 2;
const FORK: u16 = 3;
const EXEC: u16 = 4;
const EXIT: u16 = 5;

const PREEMPTED: u16 = 1;
const UNCOUNTED: u16 = 4;

/// The reader of successive records.
#[derive(Debug, Default)]
pub struct Reader {
    /// CLOCK_MONOTONIC_RAW less CLOCK_MONOTONIC, ns.
    pub offset_ns: i64,
    /// The number of records of each CPU for which there was no room, as last reported.
    lost: BTreeMap<u32, u64>,
}

impl Reader {
    /// Read a record, and the CPU that it is about.
    pub fn read(&mut self, bytes: &[u8], each: &mut dyn FnMut(u32, KernelEvent)) {
        let Ok(record) = <&[u8; BYTES]>::try_from(bytes) else { return };
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| record[at + byte]));
        let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| record[at + byte]));
        let quarter = |at: usize| u16::from_ne_bytes(std::array::from_fn(|byte| record[at + byte]));
        let thread = |at: usize| (half(at) as i32, half(at + 4) as i32);
        let time_ns = word(0).saturating_add_signed(self.offset_ns);
        let (cpu, kind, flags) = (half(8), quarter(12), quarter(14));
        let (task, other) = (thread(16), thread(24));
        let counts =
            Counts { enabled_ns: word(32), running_ns: word(40), references: word(48), misses: word(56) };
        self.missing(cpu, word(64), time_ns, each);
        match kind {
            SWITCH | TICK => {
                if flags & UNCOUNTED != 0 {
                    each(cpu, KernelEvent::Uncounted { time_ns });
                    return;
                }
                each(cpu, KernelEvent::Sample { time_ns, id: kind.into(), thread: task, counts });
                if kind == SWITCH {
                    each(cpu, KernelEvent::Out { time_ns, next: other, preempted: flags & PREEMPTED != 0 });
                }
            }
            FORK => each(cpu, KernelEvent::Fork { time_ns, child: other, parent: task.1 }),
            // This record has no counts; the name is in their place.
            EXEC => {
                let name = std::array::from_fn(|byte| record[32 + byte]);
                each(cpu, KernelEvent::Renamed { time_ns, task: task.1, name, executes: true });
            }
            EXIT => each(cpu, KernelEvent::Exit { time_ns, task: task.1 }),
            _ => {}
        }
    }

    /// Register the number of records of a CPU for which there was no room so far.
    pub fn missing(&mut self, cpu: u32, lost: u64, time_ns: u64, each: &mut dyn FnMut(u32, KernelEvent)) {
        let before = self.lost.entry(cpu).or_default();
        if lost > *before {
            let count = lost - *before;
            *before = lost;
            each(cpu, KernelEvent::Lost { time_ns, count });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u16, flags: u16, lost: u64) -> Vec<u8> {
        let head = u64::from(3_u32) | u64::from(kind) << 32 | u64::from(flags) << 48;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let words = [1_000, head, pair(20, 21), pair(30, 31), 90, 80, 500, 50, lost];
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn all(records: &[Vec<u8>]) -> Vec<KernelEvent> {
        let mut reader = Reader { offset_ns: -100, ..Reader::default() };
        let mut found = Vec::new();
        for bytes in records {
            reader.read(bytes, &mut |cpu, event| {
                assert_eq!(cpu, 3);
                found.push(event);
            });
        }
        found
    }

    const COUNTS: Counts = Counts { enabled_ns: 90, running_ns: 80, references: 500, misses: 50 };
    const TIME: u64 = 900;

    #[test]
    fn a_switch_names_both_tasks_and_counts() {
        let sample = KernelEvent::Sample { time_ns: TIME, id: SWITCHES, thread: (20, 21), counts: COUNTS };
        let out = |preempted| KernelEvent::Out { time_ns: TIME, next: (30, 31), preempted };
        assert_eq!(all(&[record(SWITCH, 0, 0)]), [sample, out(false)]);
        assert_eq!(all(&[record(SWITCH, PREEMPTED, 0)]), [sample, out(true)]);
    }

    #[test]
    fn ticks_forks_execs_and_exits_are_read() {
        let tick = KernelEvent::Sample { time_ns: TIME, id: 2, thread: (20, 21), counts: COUNTS };
        assert_eq!(all(&[record(TICK, 0, 0)]), [tick]);
        assert_eq!(
            all(&[record(FORK, 0, 0)]),
            [KernelEvent::Fork { time_ns: TIME, child: (30, 31), parent: 21 }]
        );
        assert_eq!(all(&[record(EXIT, 0, 0)]), [KernelEvent::Exit { time_ns: TIME, task: 21 }]);
        let mut bytes = record(EXEC, 0, 0);
        bytes[32..48].copy_from_slice(b"sleep\0\0\0\0\0\0\0\0\0\0\0");
        let name = *b"sleep\0\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(all(&[bytes]), [KernelEvent::Renamed { time_ns: TIME, task: 21, name, executes: true }]);
    }

    #[test]
    fn lost_records_are_reported_once_before_the_next_record() {
        let found = all(&[record(TICK, 0, 0), record(TICK, 0, 7), record(TICK, 0, 7), record(TICK, 0, 8)]);
        let lost: Vec<_> = found.iter().map(|event| matches!(event, KernelEvent::Lost { .. })).collect();
        assert_eq!(lost, [false, true, false, false, true, false]);
        assert_eq!(found[1], KernelEvent::Lost { time_ns: TIME, count: 7 });
        assert_eq!(found[4], KernelEvent::Lost { time_ns: TIME, count: 1 });
    }

    #[test]
    fn unreadable_counters_are_reported_as_uncounted() {
        assert_eq!(all(&[record(SWITCH, UNCOUNTED, 0)]), [KernelEvent::Uncounted { time_ns: TIME }]);
        assert_eq!(all(&[record(TICK, UNCOUNTED, 0)]), [KernelEvent::Uncounted { time_ns: TIME }]);
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..160), offset_ns in any::<i64>()) {
            let mut reader = Reader { offset_ns, ..Reader::default() };
            reader.read(&bytes, &mut |_, _| {});
        }
    }
}
