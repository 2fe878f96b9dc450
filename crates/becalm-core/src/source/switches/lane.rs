//! A lane: the successive records of one CPU, translated from the kernel's form into the detector's.

use super::parse::{Counts, KernelEvent, Thread};
use super::record::{Record, What};

/// A thread that a record names with its process, so that a new one can be introduced.
pub type NamedThread = Option<Thread>;

/// The numbers of irregularities of a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Noticed {
    /// Records for which the kernel had no room.
    pub lost: u64,
    /// Times that the counters were used by others between two records.
    pub shared: u64,
    /// Times that the counters could not be read.
    pub unread: u64,
}

/// One CPU's records, translated.
#[derive(Debug)]
pub struct Lane {
    cpu: u32,
    /// The identifier of the counter whose samples are switches.
    leader: u64,
    /// The sample of a switch for which the record of the next task has not come.
    left: Option<(u64, Thread, Counts)>,
    /// The running thread, according to the last switch.
    runs: Option<Thread>,
    last: Counts,
    begun: bool,
    pub noticed: Noticed,
}

impl Lane {
    /// Begin with a CPU of which nothing is known yet.
    pub fn new(cpu: u32, leader: u64) -> Self {
        Self {
            cpu,
            leader,
            left: None,
            runs: None,
            last: Counts::default(),
            begun: false,
            noticed: Noticed::default(),
        }
    }

    /// Translate one record of the kernel; `push` receives records with the threads that they name.
    pub fn translate(&mut self, event: KernelEvent, mut push: impl FnMut(Record, [NamedThread; 2])) {
        match event {
            KernelEvent::Sample { time_ns, id, thread, counts } => {
                if self.counted_in_part(&counts) {
                    self.noticed.shared += 1;
                    push(self.record(time_ns, What::Offline), [None; 2]);
                    (self.left, self.runs) = (None, None);
                }
                self.last = counts;
                self.begun = true;
                if id != self.leader {
                    push(self.record(time_ns, What::Tick), [None; 2]);
                } else if self.left.replace((time_ns, thread, counts)).is_some() {
                    push(self.record(time_ns, What::Lost), [None; 2]);
                    self.runs = None;
                }
            }
            KernelEvent::Out { time_ns, next, preempted } => self.out(time_ns, next, preempted, push),
            KernelEvent::In { time_ns, before, task } => {
                // The idle task is not always recorded when it leaves. While it ran, nothing that is counted
                // happened.
                if before.1 == 0
                    && task.1 > 0
                    && self.left.is_none()
                    && self.runs.is_some_and(|runs| runs.1 == 0)
                {
                    self.runs = Some(task);
                    let what = What::Switch { out: 0, to: task.1 as u32, preempted: true };
                    push(self.record(time_ns, what), [None, Some(task)]);
                }
            }
            KernelEvent::Fork { time_ns, child: (process, child), parent } => {
                if child > 0 && process > 0 {
                    let (parent, process) = (parent.max(0) as u32, process as u32);
                    push(
                        self.record(time_ns, What::Fork { parent, child: child as u32, process }),
                        [None; 2],
                    );
                }
            }
            KernelEvent::Renamed { time_ns, task, executes: true, .. } if task > 0 => {
                push(self.record(time_ns, What::Exec(task as u32)), [None; 2]);
            }
            KernelEvent::Exit { time_ns, task } if task > 0 => {
                push(self.record(time_ns, What::Exit(task as u32)), [None; 2]);
            }
            KernelEvent::Renamed { .. } | KernelEvent::Exit { .. } => {}
            KernelEvent::Uncounted { time_ns } => {
                self.noticed.unread += 1;
                (self.left, self.runs) = (None, None);
                push(self.record(time_ns, What::Offline), [None; 2]);
            }
            KernelEvent::Lost { time_ns, count } => {
                self.noticed.lost += count;
                (self.left, self.runs) = (None, None);
                push(self.record(time_ns, What::Lost), [None; 2]);
            }
        }
    }

    /// Return the record that the CPU does not count any more.
    pub fn end(&self, time_ns: u64) -> Record {
        self.record(time_ns, What::Offline)
    }

    fn out(
        &mut self,
        time_ns: u64,
        next: Thread,
        preempted: bool,
        mut push: impl FnMut(Record, [NamedThread; 2]),
    ) {
        let Some((time_ns, thread, _)) = self.left.take() else {
            // The sample is missing, as at the very beginning.
            if self.begun {
                push(self.record(time_ns, What::Lost), [None; 2]);
            }
            self.runs = Some(next).filter(|thread| thread.1 >= 0);
            return;
        };
        let before = self.runs.replace(next);
        // A task that has ended has no number any more when it leaves.
        let known = if thread.1 >= 0 { Some(thread) } else { before };
        match known {
            Some(left) if next.1 >= 0 => {
                let what = What::Switch { out: left.1 as u32, to: next.1 as u32, preempted };
                let named = [Some(left).filter(|_| before.is_none()), Some(next)];
                push(self.record(time_ns, what), named);
            }
            _ => {
                push(self.record(time_ns, What::Lost), [None; 2]);
                self.runs = Some(next).filter(|thread| thread.1 >= 0);
            }
        }
    }

    /// Return whether it was enabled and did not run for a while between the last record and this one: others
    /// used its counters.
    fn counted_in_part(&self, counts: &Counts) -> bool {
        let away = |counts: &Counts| counts.enabled_ns.saturating_sub(counts.running_ns);
        self.begun && away(counts) > away(&self.last)
    }

    fn record(&self, time_ns: u64, what: What) -> Record {
        let Counts { references, misses, .. } = self.last;
        Record { time_ns, cpu: self.cpu, what, references, misses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEADER: u64 = 1;
    const CLOCK: u64 = 2;

    fn counts(references: u64, away: u64) -> Counts {
        Counts { enabled_ns: 100 + away, running_ns: 100, references, misses: references / 10 }
    }

    fn sample(time_ns: u64, id: u64, task: i32, references: u64) -> KernelEvent {
        KernelEvent::Sample { time_ns, id, thread: (task, task), counts: counts(references, 0) }
    }

    fn out(time_ns: u64, next: i32) -> KernelEvent {
        KernelEvent::Out { time_ns, next: (next, next), preempted: false }
    }

    fn all(events: &[KernelEvent]) -> (Vec<Record>, Noticed) {
        let mut lane = Lane::new(3, LEADER);
        let mut records = Vec::new();
        for event in events {
            lane.translate(*event, |record, _| records.push(record));
        }
        (records, lane.noticed)
    }

    fn whats(events: &[KernelEvent]) -> Vec<What> {
        all(events).0.into_iter().map(|record| record.what).collect()
    }

    fn switch(out: u32, to: u32) -> What {
        What::Switch { out, to, preempted: false }
    }

    #[test]
    fn a_sample_and_the_next_task_form_a_switch_with_its_counts() {
        let (records, _) = all(&[
            sample(10, LEADER, 7, 100),
            out(11, 0),
            sample(20, CLOCK, 0, 130),
            sample(30, LEADER, 0, 150),
            out(31, 8),
        ]);
        assert_eq!(
            records,
            [
                Record { time_ns: 10, cpu: 3, what: switch(7, 0), references: 100, misses: 10 },
                Record { time_ns: 20, cpu: 3, what: What::Tick, references: 130, misses: 13 },
                Record { time_ns: 30, cpu: 3, what: switch(0, 8), references: 150, misses: 15 },
            ]
        );
    }

    #[test]
    fn an_unrecorded_leave_of_the_idle_task_is_inferred() {
        let comes =
            |time_ns, before, task| KernelEvent::In { time_ns, before: (before, before), task: (task, task) };
        let (records, _) = all(&[
            sample(10, LEADER, 7, 100),
            out(11, 0),
            comes(20, 0, 8),
            sample(30, LEADER, 8, 150),
            out(31, 9),
            comes(31, 8, 9),
        ]);
        let silent = What::Switch { out: 0, to: 8, preempted: true };
        assert_eq!(records[1], Record { time_ns: 20, cpu: 3, what: silent, references: 100, misses: 10 });
        assert_eq!(records[2].what, switch(8, 9));
        assert_eq!(records.len(), 3, "the switch in adds no record after the switch out");
        let events = [sample(1, LEADER, 7, 1), out(1, 0), sample(2, LEADER, 0, 1), out(2, 8), comes(2, 0, 8)];
        assert_eq!(whats(&events), [switch(7, 0), switch(0, 8)]);
        // Nothing is guessed about a CPU of which nothing is known yet.
        assert_eq!(whats(&[comes(1, 0, 8)]), []);
    }

    #[test]
    fn an_ended_task_is_identified_by_the_switch_before() {
        let events = [sample(1, LEADER, 7, 1), out(1, 9), sample(2, LEADER, -1, 2), out(2, 0)];
        assert_eq!(whats(&events), [switch(7, 9), switch(9, 0)]);
        let unnamed = [sample(2, LEADER, -1, 2), out(2, 4), sample(3, LEADER, 4, 2), out(3, 5)];
        assert_eq!(whats(&unnamed), [What::Lost, switch(4, 5)]);
    }

    #[test]
    fn lost_records_are_reported_and_not_guessed() {
        let lost = KernelEvent::Lost { time_ns: 2, count: 40 };
        let (records, noticed) =
            all(&[sample(1, LEADER, 7, 1), lost, out(3, 8), sample(4, LEADER, 8, 9), out(4, 0)]);
        let whats: Vec<_> = records.iter().map(|record| record.what).collect();
        assert_eq!(whats, [What::Lost, What::Lost, switch(8, 0)]);
        assert_eq!(noticed.lost, 40);
        let twice = [sample(1, LEADER, 7, 1), sample(2, LEADER, 8, 2), out(2, 9)];
        assert_eq!(super::tests::whats(&twice), [What::Lost, switch(8, 9)]);
    }

    #[test]
    fn counters_that_others_had_meanwhile_begin_anew() {
        let away = KernelEvent::Sample { time_ns: 2, id: CLOCK, thread: (7, 7), counts: counts(9, 50) };
        let (records, noticed) = all(&[sample(1, LEADER, 7, 1), out(1, 8), away]);
        let whats: Vec<_> = records.iter().map(|record| record.what).collect();
        assert_eq!(whats, [switch(7, 8), What::Offline, What::Tick]);
        assert_eq!(noticed.shared, 1);
    }

    #[test]
    fn counters_that_could_not_be_read_are_unknown_and_not_zero() {
        let (records, noticed) = all(&[
            sample(1, LEADER, 7, 90),
            out(1, 8),
            KernelEvent::Uncounted { time_ns: 2 },
            sample(3, LEADER, 9, 95),
            out(3, 4),
        ]);
        assert_eq!(records[1], Record { time_ns: 2, cpu: 3, what: What::Offline, references: 90, misses: 9 });
        assert_eq!((records[2].what, records[2].references), (switch(9, 4), 95));
        assert_eq!((noticed.shared, noticed.unread), (0, 1), "nobody has taken them");
    }

    #[test]
    fn forks_name_parent_and_process_and_ends_their_thread() {
        let events = [
            KernelEvent::Fork { time_ns: 1, child: (20, 21), parent: 11 },
            KernelEvent::Renamed {
                time_ns: 2,
                task: 21,
                name: *b"sleep\0\0\0\0\0\0\0\0\0\0\0",
                executes: true,
            },
            KernelEvent::Renamed {
                time_ns: 2,
                task: 21,
                name: *b"renamed\0\0\0\0\0\0\0\0\0",
                executes: false,
            },
            KernelEvent::Exit { time_ns: 3, task: 21 },
            KernelEvent::Exit { time_ns: 3, task: -1 },
        ];
        let fork = What::Fork { parent: 11, child: 21, process: 20 };
        assert_eq!(whats(&events), [fork, What::Exec(21), What::Exit(21)]);
    }
}
