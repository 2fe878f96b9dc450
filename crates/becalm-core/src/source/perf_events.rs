//! Events counted by perf_event_open(2): a pair of events for everything that one process starts.
//!
//! The pair is one group, so both count for the same time or neither does, and it is inherited: it counts for
//! a forked process from its first moment on, and for threads and children. The counts of a task are added to
//! the sum at its end, before that end is reported to anybody (kernel/exit.c, do_exit). If others want the
//! counters, too, the kernel lets them take turns: both times are reported, and nothing is scaled.

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use crate::refusal::errno_words;

/// An event that can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub name: &'static str,
    kind: u32,
    config: u64,
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;

impl Event {
    /// Return whether the processor counts it, with one of its few counters.
    pub fn is_hardware(&self) -> bool {
        self.kind == HARDWARE
    }

    /// Return whether it happens only in the kernel, so that none of it is seen if the kernel must be left
    /// out.
    pub fn is_of_kernel(&self) -> bool {
        self.kind == SOFTWARE && [3, 4].contains(&self.config)
    }
}

/// The events with numbers from linux/perf_event.h, enum perf_hw_id.
pub static EVENTS: [Event; 4] = [
    Event { name: "cycles", kind: HARDWARE, config: 0 },
    Event { name: "instructions", kind: HARDWARE, config: 1 },
    Event { name: "cache-misses", kind: HARDWARE, config: 3 },
    Event { name: "branch-misses", kind: HARDWARE, config: 5 },
];

/// Further events, which users compare and for which records of load have no column.
pub static MORE_EVENTS: [Event; 2] = [
    Event { name: "cache-references", kind: HARDWARE, config: 2 },
    Event { name: "branches", kind: HARDWARE, config: 4 },
];

/// Events that the kernel itself counts (enum perf_sw_ids), so on every machine: tests of counting use them.
pub static SOFTWARE_EVENTS: [Event; 6] = [
    Event { name: "task-clock", kind: SOFTWARE, config: 1 },
    Event { name: "page-faults", kind: SOFTWARE, config: 2 },
    Event { name: "context-switches", kind: SOFTWARE, config: 3 },
    Event { name: "cpu-migrations", kind: SOFTWARE, config: 4 },
    Event { name: "minor-faults", kind: SOFTWARE, config: 5 },
    Event { name: "major-faults", kind: SOFTWARE, config: 6 },
];

/// Two events that are counted together, in place of `cycles` and `instructions`.
pub type Pair = [&'static Event; 2];

/// The events that are counted for programs.
pub const USUAL: Pair = [&EVENTS[0], &EVENTS[1]];

/// Return an event by its name.
pub fn find(name: &str) -> Option<&'static Event> {
    EVENTS.iter().chain(&MORE_EVENTS).chain(&SOFTWARE_EVENTS).find(|event| event.name == name)
}

/// The first published size of struct perf_event_attr (PERF_ATTR_SIZE_VER0), 64 bytes, which every kernel
/// knows.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

pub(super) const DISABLED: u64 = 1;
pub(super) const INHERIT: u64 = 1 << 1;
pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// The flag that counting begins when a program is executed (perf_event_open(2), enable_on_exec).
pub(super) const ENABLE_ON_EXEC: u64 = 1 << 12;

/// The flags PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING. An inherited group cannot be
/// read in one call on kernels before 6.12.
pub(super) const TIMES: u64 = 1 | 1 << 1;

const CLOSE_ON_EXEC: u64 = 1 << 3;

/// Open a counter with the `flags` and `read_format` of the attributes; `group` -1 makes a group of its own.
pub(super) fn open(event: &Event, pid: i32, group: RawFd, flags: u64, read_format: u64) -> io::Result<File> {
    let attributes = Attributes {
        kind: event.kind,
        size: mem::size_of::<Attributes>() as u32,
        config: event.config,
        sample_period: 0,
        sample_type: 0,
        read_format,
        flags,
        wakeup_events: 0,
        breakpoint_type: 0,
        breakpoint_address: 0,
    };
    // SAFETY: the attributes are live and their size is in them; any CPU.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &attributes, pid, -1, group, CLOSE_ON_EXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, owned by nobody else.
    Ok(unsafe { File::from_raw_fd(fd as RawFd) })
}

/// Open the counter on this process, as an ordinary user may at paranoid level 2, and close it again. An
/// error is a text.
pub fn attempt(event: &Event) -> Result<(), String> {
    open(event, 0, -1, DISABLED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR, 0)
        .map(drop)
        .map_err(|error| refusal(event, &error))
}

/// Return whether the kernel does not let this user count, at least not the kernel's own work.
pub(super) fn barred(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

/// Read a counter with the times for which it should have been and was counted, both ns.
pub(super) fn read_with_times(mut file: &File) -> io::Result<[u64; 3]> {
    let mut bytes = [0; 24];
    // An event that could not be scheduled at all returns nothing (perf_event_open(2), "error state").
    file.read_exact(&mut bytes)?;
    let word = |place: usize| bytes[8 * place..8 * place + 8].try_into().map_or(0, u64::from_ne_bytes);
    Ok([word(0), word(1), word(2)])
}

/// Explain why an event cannot be counted.
pub fn refusal(event: &Event, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            format!("the kernel sees no counter for {}", event.name)
        }
        Some(libc::EACCES | libc::EPERM) => {
            "the kernel refuses it to this user (kernel.perf_event_paranoid, or a sandbox)".to_owned()
        }
        Some(libc::ENOSYS) => "this kernel was built without performance events".to_owned(),
        Some(code) => errno_words(code),
        None => error.to_string(),
    }
}

/// The columns of counts, in the order of `Counts`.
pub const COUNTS: [&str; 4] = ["cycles", "instructions", "counters_enabled_ns", "counters_running_ns"];

/// Both events, and the time for which they should have been and were counted, by `COUNTS`. None is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub values: [Option<u64>; COUNTS.len()],
    /// Whether the counts include the kernel's own work; None: nothing was counted.
    pub kernel: Option<bool>,
}

impl Counts {
    /// The start of sums.
    pub const ZERO: Self = Self { values: [Some(0); COUNTS.len()], kernel: None };

    /// Return a value by the name of its column.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.values[COUNTS.iter().position(|count| *count == name)?]
    }

    /// Return the word for the scope in the record.
    pub fn scope(&self) -> Option<&'static str> {
        self.kernel.map(|kernel| if kernel { "all" } else { "user" })
    }

    /// Add those of another run. A sum is unknown if one of its terms is, or if the scopes differ; later
    /// terms do not make it known again.
    pub fn add(&mut self, run: &Self) {
        if self.kernel.zip(run.kernel).is_some_and(|(one, other)| one != other) {
            return *self = Self::default();
        }
        for (sum, value) in self.values.iter_mut().zip(run.values) {
            *sum = sum.zip(value).map(|(sum, value)| sum.saturating_add(value));
        }
        self.kernel = run.kernel.filter(|_| self.values.iter().any(Option::is_some));
    }
}

/// A pair that is being counted.
#[derive(Debug)]
pub struct Counters {
    events: [File; 2],
    kernel: bool,
    begun: Sums,
}

/// Both events, time enabled, time running.
type Sums = [u64; COUNTS.len()];

impl Counters {
    /// Count a pair of events for all that a process does, and starts from now on, without the kernel's own
    /// work if that is not permitted. An error names the event that cannot be counted and the reason.
    pub fn open(pid: i32, pair: Pair) -> Result<Self, String> {
        let with = |flags: u64| -> Result<[File; 2], (&'static Event, io::Error)> {
            let flags = flags | INHERIT | EXCLUDE_HYPERVISOR;
            let first = open(pair[0], pid, -1, flags, TIMES).map_err(|error| (pair[0], error))?;
            let second = open(pair[1], pid, first.as_raw_fd(), flags, TIMES);
            Ok([first, second.map_err(|error| (pair[1], error))?])
        };
        let (events, kernel) = match with(0) {
            Err((_, error)) if barred(&error) => (with(EXCLUDE_KERNEL), false),
            events => (events, true),
        };
        let events = events.map_err(|(event, error)| refusal(event, &error))?;
        let mut made = Self { events, kernel, begun: [0; COUNTS.len()] };
        made.begin();
        Ok(made)
    }

    /// Register the start of a run: earlier counts are not part of it.
    pub fn begin(&mut self) {
        self.begun = self.read().unwrap_or(self.begun);
    }

    /// Return the counts since the start of the run.
    pub fn since(&self) -> Counts {
        let Ok(now) = self.read() else { return Counts::default() };
        Counts { values: moved(&self.begun, &now), kernel: Some(self.kernel) }
    }

    fn read(&self) -> io::Result<Sums> {
        let [first, second] = [read_with_times(&self.events[0])?, read_with_times(&self.events[1])?];
        Ok([first[0], second[0], first[1], first[2].min(second[2])])
    }
}

/// Return how far sums have moved. Everything except the times is unknown for a pair that never ran.
fn moved(begun: &Sums, now: &Sums) -> [Option<u64>; COUNTS.len()] {
    let mut values: [_; COUNTS.len()] = std::array::from_fn(|place| now[place].checked_sub(begun[place]));
    if values[3] == Some(0) {
        values[..2].fill(None);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Return the counts of the kernel's own events for `sh`; None if this machine lets nobody count.
    fn counted(pair: [&str; 2], script: &str) -> Option<Counts> {
        let pair = pair.map(|name| find(name).unwrap());
        let mut counters = match Counters::open(0, pair) {
            Ok(counters) => counters,
            Err(reason) => {
                assert!(reason.contains("refuses") || reason.contains("built without"), "{reason}");
                return None;
            }
        };
        counters.begin();
        let made = Command::new("sh").args(["-c", script]).stdout(Stdio::null()).status().unwrap();
        assert!(made.success());
        Some(counters.since())
    }

    #[test]
    fn grandchildren_are_counted_with_both_times() {
        // Each `sh` maps itself anew: hundreds of page faults, none of them in this process.
        let Some(one) = counted(["page-faults", "task-clock"], "true") else { return };
        let many =
            counted(["page-faults", "task-clock"], "for i in 1 2 3 4 5 6 7 8; do sh -c true; done").unwrap();
        let faults = |counts: &Counts| counts.value("cycles").unwrap();
        assert!(faults(&many) > 3 * (faults(&one) / 2), "{many:?} {one:?}");
        let (clock, enabled, running) =
            (many.values[1].unwrap(), many.values[2].unwrap(), many.values[3].unwrap());
        assert!(clock > 0 && running > 0 && running <= enabled, "{many:?}");
        assert!(many.scope().is_some());
    }

    #[test]
    fn uncountable_events_have_a_reason() {
        for event in &EVENTS {
            if let Err(reason) = attempt(event) {
                assert!(!reason.is_empty());
                assert!(Counters::open(0, [event, &SOFTWARE_EVENTS[0]]).is_err());
            }
        }
        let nobody = Counters::open(i32::MAX, [&SOFTWARE_EVENTS[0], &SOFTWARE_EVENTS[1]]);
        assert!(!nobody.unwrap_err().is_empty());
        assert_eq!(find("heat"), None);
    }

    #[test]
    fn a_pair_that_never_ran_has_counted_nothing_that_is_known() {
        let begun = [5, 7, 100, 90];
        assert_eq!(moved(&begun, &[6, 9, 104, 91]), [Some(1), Some(2), Some(4), Some(1)]);
        assert_eq!(moved(&begun, &[5, 7, 104, 90]), [None, None, Some(4), Some(0)]);
    }

    #[test]
    fn a_sum_is_known_when_all_of_it_is_and_of_one_scope() {
        let run = Counts { values: [Some(6), Some(9), Some(4), Some(4)], kernel: Some(true) };
        let mut sum = Counts::ZERO;
        assert_eq!(sum.scope(), None);
        sum.add(&run);
        sum.add(&run);
        assert_eq!((sum.value("instructions"), sum.scope()), (Some(18), Some("all")));
        let mut mixed = sum;
        mixed.add(&Counts { kernel: Some(false), ..run });
        assert_eq!((mixed.scope(), mixed.value("cycles")), (None, None));
        sum.add(&Counts::default());
        assert_eq!((sum.value("cycles"), sum.scope()), (None, None));
        for mut lost in [mixed, sum] {
            lost.add(&run);
            assert_eq!(lost, Counts::default(), "in whichever order they come");
        }
    }
}
