//! What the kernel counted for single tasks, over generic netlink (Documentation/accounting/taskstats.rst,
//! delay-accounting.rst, include/uapi/linux/taskstats.h): asked for a process, or told at the end of every task.
//!
//! `TaskStats::open` needs CAP_NET_ADMIN. `of_process` answers for a finished process that was not reaped yet. `listen`
//! works in the first user and process namespaces alone; then `exits` hands over the tasks that have ended.
//!
//! What is told at the end of a task lacks the CPU time since the last tick (`delayacct_add_tsk` reads
//! `se.sum_exec_runtime` as it stands), up to 10 ms; of a process that is asked for afterwards nothing is lacking. Waits
//! are whole either way.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::load::own::{Delays, DELAYS};

/// A task that has ended, or a process that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    pub pid: u32,
    pub parent: u32,
    /// How often it was put on a CPU; 0 for a sum over no thread.
    pub runs: u64,
    pub delays: Delays,
}

/// Places of the parts in `struct taskstats`, in the order of `DELAYS`. The structure grows at its end; a kernel that has
/// not come to a part yet sends fewer bytes.
const PLACES: [usize; DELAYS.len()] = [72, 24, 40, 56, 320, 336, 360, 408, 424];
const RUNS: usize = 16;
const PID: usize = 128;
const PARENT: usize = 132;

/// Version 15 (Linux 6.14) put new parts in between, version 16 moved them to the end.
const DISORDERED: u16 = 15;

/// What a socket may hold before the kernel drops ends of tasks: an end takes some 2 KiB there.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// How long the kernel may take to answer; it does so within the call.
const PATIENCE: Duration = Duration::from_secs(2);

// include/uapi/linux/genetlink.h, taskstats.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CMD_GET: u8 = 1;
const ATTR_PID: u16 = 1;
const ATTR_TGID: u16 = 2;
const ATTR_REGISTER_CPUMASK: u16 = 3;
const TYPE_PID: u16 = 1;
const TYPE_STATS: u16 = 3;
const TYPE_AGGR_PID: u16 = 4;
const TYPE_AGGR_TGID: u16 = 5;
const HEADER: usize = 16 + 4;

/// A conversation with the kernel's taskstats.
pub struct TaskStats {
    asking: OwnedFd,
    family: u16,
    listening: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl TaskStats {
    /// Find out how to ask, and that this kernel answers: an error where it is not permitted (EPERM), not built in
    /// (ENOENT), or of a version whose order is not known (EPROTONOSUPPORT).
    pub fn open() -> io::Result<Self> {
        let asking = socket()?;
        let mut buffer = vec![0; 1 << 16];
        let answer = ask(
            &asking,
            &mut buffer,
            GENL_ID_CTRL,
            CTRL_CMD_GETFAMILY,
            CTRL_ATTR_FAMILY_NAME,
            b"TASKSTATS\0",
        )?;
        let family = attribute(answer, CTRL_ATTR_FAMILY_ID).and_then(|value| u16_at(value, 0));
        let family = family.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))?;
        let mut made = Self { asking, family, listening: None, buffer };
        made.query(ATTR_PID, std::process::id())?;
        Ok(made)
    }

    /// The first thread of a process that has ended and was not reaped.
    pub fn of_leader(&mut self, pid: u32) -> io::Result<Task> {
        self.query(ATTR_PID, pid)
    }

    /// All threads of a process that has ended and was not reaped. Of a single thread the kernel keeps its own numbers alone, of several
    /// their sum alone (kernel/taskstats.c, fill_tgid_exit).
    pub fn of_process(&mut self, pid: u32) -> io::Result<Task> {
        let sum = self.query(ATTR_TGID, pid)?;
        if sum.runs > 0 {
            return Ok(sum);
        }
        self.query(ATTR_PID, pid)
    }

    fn query(&mut self, what: u16, pid: u32) -> io::Result<Task> {
        let answer = ask(&self.asking, &mut self.buffer, self.family, CMD_GET, what, &pid.to_ne_bytes())?;
        let kind = if what == ATTR_PID { TYPE_AGGR_PID } else { TYPE_AGGR_TGID };
        let found = attribute(answer, kind).and_then(|inner| attribute(inner, TYPE_STATS));
        found.and_then(task).ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTONOSUPPORT))
    }

    /// Be told of the end of every task on these CPUs ("0-3").
    pub fn listen(&mut self, cpus: &str) -> io::Result<()> {
        let listening = socket()?;
        for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
            // Without the right to the first, the second gives as much as there is.
            set_option(&listening, libc::SOL_SOCKET, option, &BUFFER_BYTES).ok();
        }
        let mut mask = cpus.trim().as_bytes().to_vec();
        mask.push(0);
        // No answer comes but an acknowledgement, which tells of a refusal.
        ask(&listening, &mut self.buffer, self.family, CMD_GET, ATTR_REGISTER_CPUMASK, &mask)?;
        self.listening = Some(listening);
        Ok(())
    }

    /// Be told no more: every end of a task on the machine costs a message while somebody listens.
    pub fn hush(&mut self) {
        self.listening = None;
    }

    /// Whether ends of tasks are told.
    pub fn listens(&self) -> bool {
        self.listening.is_some()
    }

    /// Hand over the tasks that have ended since the last time. Returns how often the kernel had to drop some.
    pub fn exits(&mut self, mut each: impl FnMut(Task)) -> u64 {
        let Some(listening) = &self.listening else { return 0 };
        let mut dropped = 0;
        loop {
            match receive(listening.as_raw_fd(), &mut self.buffer, libc::MSG_DONTWAIT) {
                Ok(length) => messages(&self.buffer[..length]).for_each(|(kind, body)| {
                    if kind == self.family {
                        let told = body.get(4..).and_then(|body| attribute(body, TYPE_AGGR_PID));
                        if let Some(task) = told.and_then(told_end) {
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

/// The end of one thread. Its number stands beside the structure, too; the structure's is of the first namespace.
fn told_end(inner: &[u8]) -> Option<Task> {
    let pid = u32_at(attribute(inner, TYPE_PID)?, 0)?;
    let task = task(attribute(inner, TYPE_STATS)?)?;
    Some(Task { pid, ..task })
}

/// A `struct taskstats` of this kernel's length and version.
fn task(bytes: &[u8]) -> Option<Task> {
    if u16_at(bytes, 0)? == DISORDERED {
        return None;
    }
    let delays = Delays(PLACES.map(|place| u64_at(bytes, place)));
    Some(Task {
        pid: u32_at(bytes, PID)?,
        parent: u32_at(bytes, PARENT)?,
        runs: u64_at(bytes, RUNS)?,
        delays,
    })
}

/// Ask one thing with one attribute; gives the attributes of the answer.
fn ask<'b>(
    socket: &OwnedFd,
    buffer: &'b mut [u8],
    family: u16,
    command: u8,
    kind: u16,
    value: &[u8],
) -> io::Result<&'b [u8]> {
    let mut request = Vec::with_capacity(HEADER + 4 + value.len() + 3);
    let padded = value.len().next_multiple_of(4);
    request.extend(((HEADER + 4 + padded) as u32).to_ne_bytes());
    request.extend(family.to_ne_bytes());
    let flags = libc::NLM_F_REQUEST
        | if kind == ATTR_REGISTER_CPUMASK && family != GENL_ID_CTRL { libc::NLM_F_ACK } else { 0 };
    request.extend((flags as u16).to_ne_bytes());
    // Sequence number and sender are the kernel's to fill or ignore.
    request.extend([0; 8]);
    request.extend([command, 1, 0, 0]);
    request.extend(((4 + value.len()) as u16).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(value);
    request.resize(HEADER + 4 + padded, 0);
    // SAFETY: a live buffer of that length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let length = receive(socket.as_raw_fd(), buffer, 0)?;
    let broken = || io::Error::from_raw_os_error(libc::EPROTO);
    let (kind, body) = messages(&buffer[..length]).next().ok_or_else(broken)?;
    if kind == libc::NLMSG_ERROR as u16 {
        return match u32_at(body, 0).ok_or_else(broken)? as i32 {
            0 => Ok(&[]),
            code => Err(io::Error::from_raw_os_error(-code)),
        };
    }
    body.get(4..).ok_or_else(broken)
}

fn socket() -> io::Result<OwnedFd> {
    // SAFETY: asks for a new descriptor, which is ours.
    let made = unsafe {
        let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_GENERIC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let patience = libc::timeval { tv_sec: PATIENCE.as_secs() as i64, tv_usec: 0 };
    set_option(&made, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &patience)?;
    Ok(made)
}

fn set_option<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: a live value of that size.
    let done = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, size_of::<T>() as libc::socklen_t)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// One datagram of the kernel; what other processes send is passed over.
fn receive(socket: RawFd, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    loop {
        // SAFETY: an all-zero address is valid; the buffer and the address are live and of the given sizes.
        let (length, sender) = unsafe {
            let mut sender: libc::sockaddr_nl = std::mem::zeroed();
            let mut size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            let from = std::ptr::from_mut(&mut sender).cast();
            let length =
                libc::recvfrom(socket, buffer.as_mut_ptr().cast(), buffer.len(), flags, from, &mut size);
            (length, sender)
        };
        match usize::try_from(length) {
            Ok(length) if sender.nl_pid == 0 => return Ok(length),
            Ok(_) => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
}

/// The messages of a datagram: type, and what follows the header of netlink.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        let found = (u16_at(bytes, 4)?, bytes.get(16..length)?);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(found)
    })
}

/// The value of the first attribute of a kind.
fn attribute(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(4..length)?;
        // The two highest bits are flags (include/uapi/linux/netlink.h).
        if u16_at(bytes, 2)? & 0x3fff == kind {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(place..place + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A structure of a version and length, each part of which holds its own place.
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
    fn what_a_version_has_not_is_unknown() {
        let of = |version, length| task(&structure(version, length)).unwrap().delays;
        // Lengths of the versions: Linux 4.18, 5.7, 5.19, 6.1, 6.5 and 6.18.
        for (version, length, known) in
            [(8, 328, 5), (10, 352, 6), (11, 368, 7), (13, 416, 8), (14, 432, 9), (16, 560, 9)]
        {
            let delays = of(version, length);
            assert_eq!(delays.0.iter().flatten().count(), known, "version {version}");
            assert_eq!(delays.value("wait_ns"), Some(24));
            assert_eq!(delays.value("copy_ns"), (known > 7).then_some(408));
        }
        assert_eq!(task(&structure(15, 560)), None, "parts in another order");
        assert_eq!(task(&structure(16, 100)), None, "cut off");
    }

    #[test]
    fn an_end_is_found_among_the_attributes() {
        let stats = structure(16, 560);
        let inner = [attr(TYPE_PID, &77_u32.to_ne_bytes()), attr(6, &[]), attr(TYPE_STATS, &stats)].concat();
        let whole = [attr(9, b"xyz"), attr(TYPE_AGGR_PID | 0x8000, &inner)].concat();
        let found = told_end(attribute(&whole, TYPE_AGGR_PID).unwrap()).unwrap();
        assert_eq!((found.pid, found.delays.value("irq_delay_ns")), (77, Some(424)));
        assert_eq!(attribute(&whole, TYPE_AGGR_TGID), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken_or_left(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
            for (_, body) in messages(&bytes).take(1000) {
                attribute(body, TYPE_AGGR_PID).and_then(told_end);
            }
            attribute(&bytes, TYPE_STATS);
            task(&bytes);
        }
    }
}
