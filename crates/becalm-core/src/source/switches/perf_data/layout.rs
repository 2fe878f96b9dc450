//! The layout of an event's records, which its attributes determine.

use super::super::parse::{Counts, KernelEvent, Thread};

/// The bits of sample_type of the fields that have a fixed size and come before READ in a sample, in order.
const IDENTIFIER: u64 = 1 << 16;
const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;

const FORMAT_ENABLED: u64 = 1;
const FORMAT_RUNNING: u64 = 1 << 1;
const FORMAT_ID: u64 = 1 << 2;
const FORMAT_GROUP: u64 = 1 << 3;
const FORMAT_LOST: u64 = 1 << 4;

const SAMPLE_ID_ALL: u64 = 1 << 18;
const CONTEXT_SWITCH: u64 = 1 << 26;
const EXCLUDE_KERNEL: u64 = 1 << 5;

/// The needed fields of struct perf_event_attr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    pub kind: u32,
    pub config: u64,
    pub period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    flags: u64,
}

/// A reader of eight bytes at a time.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_at_checked(8)?;
        self.0 = rest;
        Some(u64::from_ne_bytes(word.try_into().ok()?))
    }

    fn next_if(&mut self, is: bool) -> Option<u64> {
        if is {
            self.next()
        } else {
            Some(0)
        }
    }
}

fn thread(word: u64) -> Thread {
    (word as u32 as i32, (word >> 32) as u32 as i32)
}

/// The fields that every record of the kernel has besides its subject.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stamp {
    pub time_ns: u64,
    pub cpu: u32,
    /// The task that ran.
    pub task: Thread,
}

impl Attributes {
    /// Return whether it counts in user mode only.
    pub fn user(&self) -> bool {
        self.flags & EXCLUDE_KERNEL != 0
    }

    /// Parse the bytes in a file; None if there are too few.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = Words(bytes);
        let kind = words.next()? as u32;
        let mut next = || words.next();
        Some(Self {
            kind,
            config: next()?,
            period: next()?,
            sample_type: next()?,
            read_format: next()?,
            flags: next()?,
        })
    }

    /// Return those of time, task and CPU that its records do not all have.
    pub fn unstamped(&self) -> Vec<&'static str> {
        let has = |bit| self.sample_type & bit != 0;
        let mut lacks: Vec<_> =
            [(TIME, "time in its records"), (TID, "tasks in its records"), (CPU, "CPU in its records (-a)")]
                .into_iter()
                .filter_map(|(bit, what)| (!has(bit)).then_some(what))
                .collect();
        if self.flags & SAMPLE_ID_ALL == 0 {
            lacks.push("time and CPU in records that are no samples");
        }
        lacks
    }

    /// Return whether the kernel recorded the task that runs next while it counted.
    pub fn tells_switches(&self) -> bool {
        self.flags & CONTEXT_SWITCH != 0
    }

    pub fn has_identifier(&self) -> bool {
        self.sample_type & IDENTIFIER != 0
    }

    /// Return whether each sample has the counts of the whole group, by id.
    pub fn reads_group(&self) -> bool {
        self.sample_type & READ != 0
            && self.read_format & (FORMAT_ID | FORMAT_GROUP) == FORMAT_ID | FORMAT_GROUP
    }

    /// Parse the end of a record that is not a sample: its size, and its content.
    pub fn trailer(&self, body: &[u8]) -> Option<(usize, Stamp)> {
        let has = |bit| self.sample_type & bit != 0;
        let size =
            8 * [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER].into_iter().filter(|bit| has(*bit)).count();
        let mut words = Words(body.get(body.len().checked_sub(size)?..)?);
        let task = thread(words.next_if(has(TID))?);
        let time_ns = words.next_if(has(TIME))?;
        words.next_if(has(ID))?;
        words.next_if(has(STREAM_ID))?;
        let cpu = words.next_if(has(CPU))? as u32;
        Some((size, Stamp { time_ns, cpu, task }))
    }

    /// Parse a sample; `member` returns whether an id is that of the references (0) or the misses (1) of a
    /// group.
    pub fn sample(
        &self,
        id: u64,
        body: &[u8],
        member: impl Fn(u64) -> Option<usize>,
    ) -> Option<(Stamp, KernelEvent)> {
        let has = |bit| self.sample_type & bit != 0;
        let mut words = Words(body);
        words.next_if(has(IDENTIFIER))?;
        words.next_if(has(IP))?;
        let thread = thread(words.next_if(has(TID))?);
        let time_ns = words.next_if(has(TIME))?;
        for bit in [ADDR, ID, STREAM_ID] {
            words.next_if(has(bit))?;
        }
        let cpu = words.next_if(has(CPU))? as u32;
        words.next_if(has(PERIOD))?;
        let format = |bit| self.read_format & bit != 0;
        let count = words.next()?;
        let mut counts = Counts {
            enabled_ns: words.next_if(format(FORMAT_ENABLED))?,
            running_ns: words.next_if(format(FORMAT_RUNNING))?,
            ..Counts::default()
        };
        // The search ends if there are more members than bytes for them.
        for _ in 0..count.min(body.len() as u64) {
            let (value, of) = (words.next()?, words.next()?);
            words.next_if(format(FORMAT_LOST))?;
            match member(of) {
                Some(0) => counts.references = value,
                Some(_) => counts.misses = value,
                None => {}
            }
        }
        Some((Stamp { time_ns, cpu, task: thread }, KernelEvent::Sample { time_ns, id, thread, counts }))
    }
}
