//! The kernel's records (linux/perf_event.h, enum perf_event_type), with the attributes of `group`.
//!
//! `sample_type` is IDENTIFIER, TID, TIME, READ; `read_format` both times, ID, GROUP; other records end with
//! TID, TIME, IDENTIFIER (sample_id_all). A record that is not understood, or too short, is left out: the
//! kernel may add types.

/// The flags PERF_SAMPLE_TID, TIME, READ, IDENTIFIER.
pub const SAMPLE_TYPE: u64 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 16;

/// The flags PERF_FORMAT_TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING, ID, GROUP.
pub const READ_FORMAT: u64 = 1 | 2 | 4 | 8;

/// The size of the end of records that are not samples.
const TRAILER: usize = 24;

/// A name with the zeros behind it (TASK_COMM_LEN in linux/sched.h).
pub type Comm = [u8; 16];

/// A thread and its process. Minus one: it does not exist any more.
pub type Thread = (i32, i32);

/// The values of a group at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub enabled_ns: u64,
    pub running_ns: u64,
    pub references: u64,
    pub misses: u64,
}

/// An event that the kernel has recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelEvent {
    /// A sample of a switch of tasks or of the clock, depending on `id`.
    Sample {
        time_ns: u64,
        id: u64,
        thread: Thread,
        counts: Counts,
    },
    /// The current task leaves; the next task, and whether the current one could have gone on.
    Out {
        time_ns: u64,
        next: Thread,
        preempted: bool,
    },
    /// A task comes, after another one.
    In {
        time_ns: u64,
        before: Thread,
        task: Thread,
    },
    Fork {
        time_ns: u64,
        child: Thread,
        parent: i32,
    },
    /// A task has a new name, by executing a program or by itself.
    Renamed {
        time_ns: u64,
        task: i32,
        name: Comm,
        executes: bool,
    },
    Exit {
        time_ns: u64,
        task: i32,
    },
    Lost {
        time_ns: u64,
        count: u64,
    },
    /// The counters could not be read: others used them.
    Uncounted {
        time_ns: u64,
    },
}

/// The ids of references and misses in a group.
#[derive(Debug, Clone, Copy)]
pub struct Members {
    pub references: u64,
    pub misses: u64,
}

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const SWITCH_CPU_WIDE: u32 = 15;

const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
const MISC_COMM_EXEC: u16 = 1 << 13;

fn u32_at(body: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(body: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(body.get(at..at + 8)?.try_into().ok()?))
}

fn thread_at(body: &[u8], at: usize) -> Option<Thread> {
    Some((u32_at(body, at)? as i32, u32_at(body, at + 4)? as i32))
}

/// Return a name from the bytes that there are.
fn comm(bytes: &[u8]) -> Comm {
    let mut name = Comm::default();
    let length = bytes.len().min(name.len());
    name[..length].copy_from_slice(&bytes[..length]);
    name
}

/// Parse the record of one header (type, misc) and the bytes behind it; None: nothing of interest.
pub fn parse(kind: u32, misc: u16, body: &[u8], members: Members) -> Option<KernelEvent> {
    if kind == SAMPLE {
        return sample(body, members);
    }
    let trailer = body.len().checked_sub(TRAILER)?;
    parse_body(kind, misc, &body[..trailer], (u64_at(body, trailer + 8)?, thread_at(body, trailer)?))
}

/// Parse a record that is not a sample, without its end, from which time and current task were read already.
pub fn parse_body(kind: u32, misc: u16, body: &[u8], (time_ns, task): (u64, Thread)) -> Option<KernelEvent> {
    Some(match kind {
        LOST => KernelEvent::Lost { time_ns, count: u64_at(body, 8)? },
        COMM => KernelEvent::Renamed {
            time_ns,
            task: thread_at(body, 0)?.1,
            name: comm(&body[8..]),
            executes: misc & MISC_COMM_EXEC != 0,
        },
        // The fields pid, ppid, tid, ptid.
        FORK => KernelEvent::Fork {
            time_ns,
            child: (u32_at(body, 0)? as i32, u32_at(body, 8)? as i32),
            parent: u32_at(body, 12)? as i32,
        },
        EXIT => KernelEvent::Exit { time_ns, task: u32_at(body, 8)? as i32 },
        SWITCH_CPU_WIDE if misc & MISC_SWITCH_OUT != 0 => KernelEvent::Out {
            time_ns,
            next: thread_at(body, 0)?,
            preempted: misc & MISC_SWITCH_OUT_PREEMPT != 0,
        },
        SWITCH_CPU_WIDE => KernelEvent::In { time_ns, before: thread_at(body, 0)?, task },
        _ => return None,
    })
}

/// Parse a sample: identifier, pid, tid, time, then nr, enabled, running, (value, id) each.
fn sample(body: &[u8], members: Members) -> Option<KernelEvent> {
    let (id, thread, time_ns) = (u64_at(body, 0)?, thread_at(body, 8)?, u64_at(body, 16)?);
    let count = usize::try_from(u64_at(body, 24)?).ok()?;
    let mut counts =
        Counts { enabled_ns: u64_at(body, 32)?, running_ns: u64_at(body, 40)?, ..Counts::default() };
    // The search ends if there are more members than bytes for them.
    for member in 0..count.min(body.len() / 16) {
        let (value, of) = (u64_at(body, 48 + 16 * member)?, u64_at(body, 56 + 16 * member)?);
        if of == members.references {
            counts.references = value;
        } else if of == members.misses {
            counts.misses = value;
        }
    }
    Some(KernelEvent::Sample { time_ns, id, thread, counts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEMBERS: Members = Members { references: 12, misses: 13 };

    fn words(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    fn pair(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    #[test]
    fn a_sample_has_thread_time_and_both_counts() {
        let body = words(&[11, pair(40, 41), 1_000, 4, 90, 80, 7, 11, 500, 12, 50, 13, 3, 14]);
        let counts = Counts { enabled_ns: 90, running_ns: 80, references: 500, misses: 50 };
        assert_eq!(
            parse(SAMPLE, 0, &body, MEMBERS),
            Some(KernelEvent::Sample { time_ns: 1_000, id: 11, thread: (40, 41), counts })
        );
        assert_eq!(parse(SAMPLE, 0, &body[..body.len() - 40], MEMBERS), None, "cut");
    }

    #[test]
    fn switches_name_the_next_task_and_preemption() {
        let body = words(&[pair(7, 8), pair(5, 6), 2_000, 11]);
        let out = |preempted| Some(KernelEvent::Out { time_ns: 2_000, next: (7, 8), preempted });
        assert_eq!(parse(SWITCH_CPU_WIDE, MISC_SWITCH_OUT, &body, MEMBERS), out(false));
        assert_eq!(
            parse(SWITCH_CPU_WIDE, MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT, &body, MEMBERS),
            out(true)
        );
        let comes = KernelEvent::In { time_ns: 2_000, before: (7, 8), task: (5, 6) };
        assert_eq!(parse(SWITCH_CPU_WIDE, 0, &body, MEMBERS), Some(comes));
    }

    #[test]
    fn forks_execs_exits_and_losses_are_parsed() {
        let trailer = [pair(1, 1), 3_000, 11];
        let task = words(&[&[pair(20, 10), pair(21, 11), 2_999][..], &trailer].concat());
        assert_eq!(
            parse(FORK, 0, &task, MEMBERS),
            Some(KernelEvent::Fork { time_ns: 3_000, child: (20, 21), parent: 11 })
        );
        assert_eq!(parse(EXIT, 0, &task, MEMBERS), Some(KernelEvent::Exit { time_ns: 3_000, task: 21 }));
        let comm = words(&[&[pair(20, 21), 0x6873][..], &trailer].concat());
        let mut name = Comm::default();
        name[..2].copy_from_slice(b"sh");
        let named = |executes| Some(KernelEvent::Renamed { time_ns: 3_000, task: 21, name, executes });
        assert_eq!(parse(COMM, MISC_COMM_EXEC, &comm, MEMBERS), named(true));
        assert_eq!(
            parse(COMM, 0, &comm, MEMBERS),
            named(false),
            "a thread that names itself executes nothing"
        );
        let lost = words(&[&[11, 5][..], &trailer].concat());
        assert_eq!(parse(LOST, 0, &lost, MEMBERS), Some(KernelEvent::Lost { time_ns: 3_000, count: 5 }));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(kind in 0_u32..20, misc in any::<u16>(), body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(kind, misc, &body, MEMBERS);
        }
    }
}
