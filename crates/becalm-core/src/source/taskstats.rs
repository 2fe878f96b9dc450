//! The kernel's counts for single tasks, over generic netlink (Documentation/accounting/taskstats.rst,
//! delay-accounting.rst, include/uapi/linux/taskstats.h): on request for a process, or reported at the end of
//! every task.
//!
//! `TaskStats::open` needs CAP_NET_ADMIN. `of_process` returns those of a finished process that was not
//! reaped yet. `listen` works only in the first user and process namespaces; then `exits` hands over the
//! tasks that have ended.
//!
//! The report at the end of a task lacks the CPU time since the last tick (`delayacct_add_tsk` reads
//! `se.sum_exec_runtime` as it stands), up to 10 ms; a request for a process afterwards returns all of it.
//! Waits are whole either way.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::delays::{Delays, DELAYS};
use super::netlink::{self, ask, attribute, messages, receive, u16_at, u32_at, u64_at};

/// A task that has ended, or a process that was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    pub pid: u32,
    pub parent: u32,
    /// The number of times that it was put on a CPU; 0 for a sum over no thread.
    pub runs: u64,
    pub delays: Delays,
    /// Its process; unknown before Linux 5.19.
    pub process: Option<u32>,
    /// The life of its process until then, or of the task itself if that is unknown: since it was forked, in
    /// whole µs.
    pub lived_ns: u64,
    /// Its name, which ends before a zero (proc_pid_comm(5)).
    pub name: [u8; 16],
}

/// The offsets of the parts in `struct taskstats`, in the order of `DELAYS`. The structure grows at its end;
/// an older kernel that lacks a part sends fewer bytes.
const PLACES: [usize; DELAYS.len()] = [72, 24, 40, 56, 320, 336, 360, 408, 424];
const RUNS: usize = 16;
const NAME: usize = 80;
const PID: usize = 128;
const PARENT: usize = 132;
/// The offset of the time since it was forked, µs.
const LIFE_US: usize = 144;
/// The offset of the thread group, followed by the life of its leader, µs (since version 12).
const PROCESS: usize = 368;
const PROCESS_LIFE_US: usize = 376;

/// The version with another order: version 15 (Linux 6.14) put new parts in between, version 16 moved them to
/// the end.
const DISORDERED: u16 = 15;

/// The size that a socket may hold before the kernel drops ends of tasks: an end takes about 2 KiB there.
const BUFFER_BYTES: libc::c_int = 16 << 20;

// include/uapi/linux/taskstats.h.
const CMD_GET: u8 = 1;
const ATTR_PID: u16 = 1;
const ATTR_TGID: u16 = 2;
const ATTR_REGISTER_CPUMASK: u16 = 3;
const TYPE_PID: u16 = 1;
const TYPE_STATS: u16 = 3;
const TYPE_AGGR_PID: u16 = 4;
const TYPE_AGGR_TGID: u16 = 5;

/// A conversation with the kernel's taskstats.
pub struct TaskStats {
    asking: OwnedFd,
    family: u16,
    listening: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl TaskStats {
    /// Find out how to ask, and whether this kernel answers: an error if it is not permitted (EPERM), not
    /// built in (ENOENT), or of a version whose order is not known (EPROTONOSUPPORT).
    pub fn open() -> io::Result<Self> {
        let asking = netlink::socket()?;
        let mut buffer = vec![0; 1 << 16];
        let family = netlink::family(&asking, &mut buffer, b"TASKSTATS\0")?;
        let mut made = Self { asking, family, listening: None, buffer };
        made.query(ATTR_PID, std::process::id())?;
        Ok(made)
    }

    /// Return the counts of the first thread of a process that has ended and was not reaped.
    pub fn of_leader(&mut self, pid: u32) -> io::Result<Task> {
        self.query(ATTR_PID, pid)
    }

    /// Return the counts of all threads of a process that has ended and was not reaped. For a single thread
    /// the kernel stores only its own numbers, for several only their sum (kernel/taskstats.c,
    /// fill_tgid_exit).
    pub fn of_process(&mut self, pid: u32) -> io::Result<Task> {
        let sum = self.query(ATTR_TGID, pid)?;
        if sum.runs > 0 {
            return Ok(sum);
        }
        self.query(ATTR_PID, pid)
    }

    fn query(&mut self, what: u16, pid: u32) -> io::Result<Task> {
        let answer =
            ask(&self.asking, &mut self.buffer, (self.family, CMD_GET), (what, &pid.to_ne_bytes()), false)?;
        type Parse = fn(&[u8]) -> Option<Task>;
        let (kind, parse): (_, Parse) =
            if what == ATTR_PID { (TYPE_AGGR_PID, thread) } else { (TYPE_AGGR_TGID, task) };
        let found = attribute(answer, kind).and_then(|inner| attribute(inner, TYPE_STATS));
        found.and_then(parse).ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTONOSUPPORT))
    }

    /// Listen for the end of every task on these CPUs ("0-3").
    pub fn listen(&mut self, cpus: &str) -> io::Result<()> {
        let listening = netlink::socket()?;
        for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
            // Without the right to the first option, the second sets as much as is permitted.
            netlink::set_option(&listening, libc::SOL_SOCKET, option, &BUFFER_BYTES).ok();
        }
        let mut mask = cpus.trim().as_bytes().to_vec();
        mask.push(0);
        // The answer is only an acknowledgement, which reports a refusal.
        ask(&listening, &mut self.buffer, (self.family, CMD_GET), (ATTR_REGISTER_CPUMASK, &mask), true)?;
        self.listening = Some(listening);
        Ok(())
    }

    /// Stop listening: while somebody listens, every end of a task on the machine costs a message.
    pub fn hush(&mut self) {
        self.listening = None;
    }

    /// Return whether ends of tasks are reported.
    pub fn listens(&self) -> bool {
        self.listening.is_some()
    }

    /// Hand over the tasks that have ended since the last call. Return how often the kernel had to drop some.
    pub fn exits(&mut self, mut each: impl FnMut(Task)) -> u64 {
        let Some(listening) = &self.listening else { return 0 };
        let mut dropped = 0;
        loop {
            match receive(listening.as_raw_fd(), &mut self.buffer, libc::MSG_DONTWAIT) {
                Ok(length) => messages(&self.buffer[..length]).for_each(|(kind, body)| {
                    if kind == self.family {
                        let record = body.get(4..).and_then(|body| attribute(body, TYPE_AGGR_PID));
                        if let Some(task) = record.and_then(ended_task) {
                            each(task);
                        }
                    }
                }),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => dropped += 1,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return dropped,
            }
        }
    }
}

/// Parse the end of one thread. Its number is next to the structure, too; the one in the structure is of the
/// first namespace.
fn ended_task(inner: &[u8]) -> Option<Task> {
    let pid = u32_at(attribute(inner, TYPE_PID)?, 0)?;
    let ended = thread(attribute(inner, TYPE_STATS)?)?;
    Some(Task { pid, ..ended })
}

/// Parse a `struct taskstats` of one thread, which cannot have waited longer than it has lived. For a process
/// the kernel reports the life of its threads only since Linux 5.18, and not of those that have ended.
fn thread(bytes: &[u8]) -> Option<Task> {
    let task = task(bytes)?;
    let life_ns = u64_at(bytes, LIFE_US)?.saturating_mul(1000);
    Some(Task { delays: task.delays.within(life_ns), ..task })
}

/// Parse a `struct taskstats` of this kernel's length and version.
fn task(bytes: &[u8]) -> Option<Task> {
    if u16_at(bytes, 0)? == DISORDERED {
        return None;
    }
    let life_us = u64_at(bytes, PROCESS_LIFE_US).or_else(|| u64_at(bytes, LIFE_US));
    Some(Task {
        pid: u32_at(bytes, PID)?,
        parent: u32_at(bytes, PARENT)?,
        runs: u64_at(bytes, RUNS)?,
        delays: Delays(PLACES.map(|place| u64_at(bytes, place))),
        process: u64_at(bytes, PROCESS_LIFE_US).and_then(|_| u32_at(bytes, PROCESS)),
        lived_ns: life_us?.saturating_mul(1000),
        name: bytes.get(NAME..NAME + 16)?.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return a structure of a version and length in which each part holds its own offset.
    fn structure(version: u16, length: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            (0..length.div_ceil(8)).flat_map(|word| (8 * word as u64).to_ne_bytes()).collect();
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        bytes
    }

    fn attr(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut made = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        made.extend(kind.to_ne_bytes());
        made.extend(value);
        made.resize(made.len().next_multiple_of(4), 0);
        made
    }

    #[test]
    fn fields_that_a_version_lacks_are_unknown() {
        let of = |version, length| task(&structure(version, length)).unwrap().delays;
        // The lengths are those of Linux 4.18, 5.7, 5.19, 6.1, 6.5 and 6.18.
        for (version, length, known) in
            [(8, 328, 5), (10, 352, 6), (11, 368, 7), (13, 416, 8), (14, 432, 9), (16, 560, 9)]
        {
            let delays = of(version, length);
            assert_eq!(delays.0.iter().flatten().count(), known, "version {version}");
            assert_eq!(delays.value("wait_ns"), Some(24));
            assert_eq!(delays.value("copy_ns"), (known > 7).then_some(408));
            let record = task(&structure(version, length)).unwrap();
            let expected = if known > 7 { (Some(368), 376_000) } else { (None, 144_000) };
            assert_eq!((record.process, record.lived_ns), expected, "version {version}");
        }
        assert_eq!(task(&structure(15, 560)), None, "parts in another order");
        assert_eq!(task(&structure(16, 100)), None, "cut off");
    }

    #[test]
    fn an_end_is_found_among_the_attributes() {
        let stats = structure(16, 560);
        let inner = [attr(TYPE_PID, &77_u32.to_ne_bytes()), attr(6, &[]), attr(TYPE_STATS, &stats)].concat();
        let whole = [attr(9, b"xyz"), attr(TYPE_AGGR_PID | 0x8000, &inner)].concat();
        let found = ended_task(attribute(&whole, TYPE_AGGR_PID).unwrap()).unwrap();
        assert_eq!((found.pid, found.delays.value("irq_delay_ns")), (77, Some(424)));
        assert_eq!(attribute(&whole, TYPE_AGGR_TGID), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken_or_left(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
            for (_, body) in messages(&bytes).take(1000) {
                attribute(body, TYPE_AGGR_PID).and_then(ended_task);
            }
            attribute(&bytes, TYPE_STATS);
            task(&bytes);
        }
    }
}
