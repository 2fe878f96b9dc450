//! The group of one CPU: switches of tasks, a clock, references and misses, all counted together or not at
//! all.
//!
//! The leader is the kernel's count of context switches with a period of 1: each switch writes a sample with
//! all counts and the task that leaves. A clock in the same group writes one every window, so that tasks that
//! run long are read by their own CPU without waking any other. Both write into one ring. The leader must not
//! leave out the kernel: a switch happens there, and nothing would be counted. It is pinned: a group for
//! which the processor has no counters is an error, never scaled.
//!
//! While others record switches, too, our samples have the identifier of theirs (seen with 6.18): for all
//! events of one switch the kernel fills one sample, and does not fill again what is filled already
//! (data->sample_flags in kernel/events/core.c). So a sample is of a switch when it is not of our clock.

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use super::buffer::Buffer;
use super::events::{Counted, Pair};
use super::parse::{self, KernelEvent, Members, READ_FORMAT, SAMPLE_TYPE};

/// The layout of struct perf_event_attr up to `clockid` (PERF_ATTR_SIZE_VER3, Linux 3.7 and later; clockid
/// came with 4.1).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
}

const DISABLED: u64 = 1;
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
const COMM: u64 = 1 << 9;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;

const SOFTWARE: u32 = 1;
const CONTEXT_SWITCHES: u64 = 3;
const CPU_CLOCK: u64 = 0;

const CLOSE_ON_EXEC: libc::c_ulong = 8;
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_SET_BPF: libc::c_ulong = 0x4004_2408;
const IOC_ID: libc::c_ulong = 0x8008_2407;
const IOC_FLAG_GROUP: libc::c_ulong = 1;

/// An open group that counts.
pub struct Group {
    pub cpu: u32,
    pub pair: Pair,
    members: Members,
    /// The identifier of the counter whose samples are switches.
    leader: u64,
    clock: u64,
    buffer: Buffer,
    /// The counters, the leader first; closing it ends the group.
    files: [File; 4],
}

/// The reason why something could not be opened, and the event.
pub struct Refused {
    pub event: String,
    pub hardware: bool,
    pub error: io::Error,
}

impl Group {
    /// Open and enable the group of a CPU; `window_ns` is the time between readings of tasks that run long.
    pub fn open(cpu: u32, pair: &Pair, window_ns: u64) -> Result<Self, Refused> {
        let switches = Attributes {
            kind: SOFTWARE,
            config: CONTEXT_SWITCHES,
            sample_period: 1,
            flags: DISABLED | PINNED | COMM | TASK | WATERMARK | SAMPLE_ID_ALL | COMM_EXEC | CONTEXT_SWITCH,
            wakeup_watermark: (super::buffer::RING_BYTES / 2) as u32,
            ..Attributes::default()
        };
        let leader = open(switches, cpu, -1).map_err(|error| refused("context-switches", false, error))?;
        let group = leader.as_raw_fd();
        let clock = clock(window_ns, EXCLUDE_IDLE);
        let clock = open(clock, cpu, group).map_err(|error| refused("cpu-clock", false, error))?;
        let counter = |number: usize| counter(&pair[number], cpu, group, 0);
        let files = [leader, clock, counter(0)?, counter(1)?];
        let wrong = || |error| refused("context-switches", false, error);
        let buffer = Buffer::map(group).map_err(wrong())?;
        control(&files[1], IOC_SET_OUTPUT, group as libc::c_ulong).map_err(wrong())?;
        let members =
            Members { references: id(&files[2]).map_err(wrong())?, misses: id(&files[3]).map_err(wrong())? };
        let (leader, clock) = (id(&files[0]).map_err(wrong())?, id(&files[1]).map_err(wrong())?);
        control(&files[0], IOC_ENABLE, IOC_FLAG_GROUP).map_err(wrong())?;
        Ok(Self { cpu, pair: pair.clone(), members, leader, clock, buffer, files })
    }

    /// Read what the kernel has written, in order; samples that are not of the clock have the `leader`'s
    /// identifier.
    pub fn take(&mut self, mut each: impl FnMut(KernelEvent)) {
        let (members, leader, clock) = (self.members, self.leader, self.clock);
        self.buffer.take(|kind, misc, body| match parse::parse(kind, misc, body, members) {
            Some(KernelEvent::Sample { time_ns, id, thread, counts }) if id != clock => {
                each(KernelEvent::Sample { time_ns, id: leader, thread, counts });
            }
            Some(event) => each(event),
            None => {}
        });
    }

    /// Return the identifier of the counter whose samples are switches; all others are of the clock.
    pub fn leader(&self) -> u64 {
        self.leader
    }

    /// Return whether the processor counts it now. Reading a pinned group without counters returns end of
    /// file.
    pub fn counts(&self) -> io::Result<bool> {
        // The fields nr, both times, and four values with ids.
        let mut bytes = [0; 8 * (3 + 2 * 4)];
        Ok((&self.files[0]).read(&mut bytes)? > 0)
    }
}

/// Both counters and the clock of a CPU. They write nothing: programs in the kernel read them.
pub struct Counters {
    /// The counters of references, which lead, and misses.
    pub files: [File; 2],
    /// The clock, which `start` starts.
    pub clock: File,
}

impl Counters {
    /// Open them; both count from now on, together or not at all.
    pub fn open(cpu: u32, pair: &Pair, window_ns: u64) -> Result<Self, Refused> {
        let [references, misses] = pair;
        let references = counter(references, cpu, -1, PINNED)?;
        let misses = counter(misses, cpu, references.as_raw_fd(), 0)?;
        let clock = clock(window_ns, DISABLED | EXCLUDE_IDLE);
        let clock = open(clock, cpu, -1).map_err(|error| refused("cpu-clock", false, error))?;
        Ok(Self { files: [references, misses], clock })
    }

    /// Have the clock call a BPF program every window, and start it.
    pub fn start(&self, program: RawFd) -> Result<(), Refused> {
        let begun = control(&self.clock, IOC_SET_BPF, program as libc::c_ulong)
            .and_then(|()| control(&self.clock, IOC_ENABLE, 0));
        begun.map_err(|error| refused("cpu-clock", false, error))
    }

    /// Return whether the processor counts now.
    pub fn counts(&self) -> io::Result<bool> {
        // The fields nr, both times, and two values with ids.
        let mut bytes = [0; 8 * (3 + 2 * 2)];
        Ok((&self.files[0]).read(&mut bytes)? > 0)
    }
}

fn refused(event: &str, hardware: bool, error: io::Error) -> Refused {
    Refused { event: event.to_owned(), hardware, error }
}

/// Describe a clock with an event every window.
fn clock(window_ns: u64, flags: u64) -> Attributes {
    Attributes {
        kind: SOFTWARE,
        config: CPU_CLOCK,
        sample_period: window_ns,
        flags: flags | SAMPLE_ID_ALL | WATERMARK,
        wakeup_watermark: (super::buffer::RING_BYTES / 2) as u32,
        ..Attributes::default()
    }
}

/// Open a counter of user mode.
fn counter(event: &Counted, cpu: u32, group: RawFd, flags: u64) -> Result<File, Refused> {
    let attributes = Attributes {
        kind: event.kind,
        config: event.config,
        flags: flags | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        ..Attributes::default()
    };
    open(attributes, cpu, group).map_err(|error| refused(&event.name, event.is_hardware(), error))
}

fn open(mut attributes: Attributes, cpu: u32, group: RawFd) -> io::Result<File> {
    attributes.size = mem::size_of::<Attributes>() as u32;
    attributes.sample_type = SAMPLE_TYPE;
    attributes.read_format = READ_FORMAT;
    attributes.flags |= USE_CLOCKID;
    attributes.clockid = libc::CLOCK_MONOTONIC_RAW;
    // SAFETY: the attributes are live and their size is in them; all tasks of one CPU.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &attributes, -1, cpu, group, CLOSE_ON_EXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, owned by nobody else.
    Ok(unsafe { File::from_raw_fd(fd as RawFd) })
}

fn control(file: &File, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: these requests take a number.
    match unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn id(file: &File) -> io::Result<u64> {
    let mut id = 0_u64;
    // SAFETY: the request writes eight bytes to a live place.
    match unsafe { libc::ioctl(file.as_raw_fd(), IOC_ID as _, &mut id) } {
        0 => Ok(id),
        _ => Err(io::Error::last_os_error()),
    }
}
