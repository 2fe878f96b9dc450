//! The requested events of one run, from the exec of its program on, descendants included.
//!
//! They are opened on the process that starts programs, and inherited: a child's share of them is switched on
//! by its own exec (`perf_event_enable_on_exec` in kernel/events/core.c), so that nothing before it is
//! counted, and nobody except the agent ever has a descriptor. They are opened anew for each run: when the
//! kernel switches from that process to its child it may exchange the counters of the two
//! (`perf_event_context_sched_out`), and then the exec of the child removes `enable_on_exec` from the events
//! of all later children. Events of the processor are one group: the kernel counts all of them or none at a
//! time. If it had to let them take turns with others' events, the counts cover a part of the run, and are
//! not reported.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;

use super::perf_events::{
    barred, open, read_with_times, Event, DISABLED, ENABLE_ON_EXEC, EXCLUDE_HYPERVISOR, EXCLUDE_KERNEL,
    INHERIT, TIMES,
};
use crate::refusal::errno_words;

/// The smallest counted share of a run that is the whole run: the rest is the time that switching takes.
const WHOLE: f64 = 0.999;

/// The reason why a run's events are not known.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CountError {
    #[error("it was counted in {:.0} % of the time: there are more events than this processor has counters, or others count, too (perf, the NMI watchdog). Ask for fewer events at once", 100.0 * .0)]
    Multiplexed(f64),
    #[error("nothing was counted: others may hold all counters of the processor")]
    Never,
    #[error("its counter cannot be read: {0}")]
    Read(String),
}

/// Events that are being counted.
pub struct RunCounters {
    events: Vec<(&'static Event, File)>,
    /// Whether the kernel's own work is left out, because this user may not see it.
    pub user_only: bool,
}

impl RunCounters {
    /// Count events of everything that a process starts from now on; 0: this process. An error names the
    /// event that cannot be counted and the reason.
    pub fn open(pid: i32, wanted: &[&'static Event]) -> Result<Self, String> {
        let (events, user_only) = match opened(pid, wanted, 0) {
            Err((event, error)) if barred(&error) => {
                if let Some(kernel) = wanted.iter().find(|each| each.is_of_kernel()) {
                    return Err(why_not(kernel, &error, &Circumstances::here()));
                }
                (opened(pid, wanted, EXCLUDE_KERNEL).map_err(|(_, error)| (event, error)), true)
            }
            events => (events, false),
        };
        let events = events.map_err(|(event, error)| why_not(event, &error, &Circumstances::here()))?;
        Ok(Self { events, user_only })
    }

    /// Return how often an event has happened since the first program was executed.
    pub fn count(&self, event: &Event) -> Result<u64, CountError> {
        let found = self.events.iter().find(|(each, _)| *each == event);
        let Some((_, file)) = found else { return Err(CountError::Read("it was not opened".to_owned())) };
        whole(read_with_times(file).map_err(|error| CountError::Read(error.to_string()))?)
    }
}

/// Open all events, those of the processor as one group; an error with the event that it is about.
fn opened(
    pid: i32,
    wanted: &[&'static Event],
    flags: u64,
) -> Result<Vec<(&'static Event, File)>, (&'static Event, io::Error)> {
    let flags = flags | DISABLED | INHERIT | ENABLE_ON_EXEC | EXCLUDE_HYPERVISOR;
    let mut made: Vec<(&'static Event, File)> = Vec::with_capacity(wanted.len());
    for event in wanted {
        let leader = made.iter().find(|(each, _)| each.is_hardware() && event.is_hardware());
        let group = leader.map_or(-1, |(_, file)| file.as_raw_fd());
        made.push((event, open(event, pid, group, flags, TIMES).map_err(|error| (*event, error))?));
    }
    Ok(made)
}

/// Return a count, if the time for which it was counted is the time for which it should have been.
fn whole([count, enabled, running]: [u64; 3]) -> Result<u64, CountError> {
    match running as f64 / enabled as f64 {
        _ if enabled == 0 || running == 0 => Err(CountError::Never),
        share if share < WHOLE => Err(CountError::Multiplexed(share)),
        _ => Ok(count),
    }
}

/// The circumstances that explain why an event cannot be counted.
struct Circumstances {
    paranoid: Option<i32>,
    guest: bool,
}

impl Circumstances {
    fn here() -> Self {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            paranoid: paranoid.ok().and_then(|text| text.trim().parse().ok()),
            guest: info.lines().any(|line| {
                line.starts_with("flags") && line.split_ascii_whitespace().any(|flag| flag == "hypervisor")
            }),
        }
    }
}

/// Explain why an event cannot be counted and what to do: the end of a sentence, and further sentences.
fn why_not(event: &Event, error: &io::Error, here: &Circumstances) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) if event.is_hardware() && here.guest => {
            "this virtual machine is given no performance counters (PMU) by its host. What the kernel counts works here: \
             counter:page-faults, counter:context-switches, counter:task-clock"
                .to_owned()
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "the kernel knows no counter for it on this processor".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => match here.paranoid {
            Some(level @ 3..) => format!(
                "kernel.perf_event_paranoid is {level}, which lets root alone count. Use --sudo, or as root: sysctl \
                 kernel.perf_event_paranoid=2"
            ),
            Some(level @ 2) if event.is_of_kernel() => format!(
                "kernel.perf_event_paranoid is {level}, which hides what happens in the kernel. Use --sudo, or as root: \
                 sysctl kernel.perf_event_paranoid=1"
            ),
            _ => "a sandbox refuses perf_event_open (seccomp of a container). Measure outside of it, or allow the call"
                .to_owned(),
        },
        Some(libc::ENOSYS) => "this kernel was built without performance events (CONFIG_PERF_EVENTS)".to_owned(),
        Some(libc::EINVAL) if event.is_hardware() => {
            "the processor does not have that many counters at once. Request fewer events".to_owned()
        }
        Some(libc::EMFILE | libc::ENFILE) => "there are too many open files".to_owned(),
        Some(code) => errno_words(code),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::perf_events::find;
    use super::*;
    use crate::samples::samples;
    use std::process::{Command, Stdio};

    const SOFTWARE: [&str; 2] = ["page-faults", "task-clock"];

    /// Return the counts of a script for each event; None if this machine lets nobody count.
    fn run(names: &[&str], script: &str) -> Option<Vec<u64>> {
        let wanted: Vec<_> = names.iter().map(|name| find(name).unwrap()).collect();
        let counters = match RunCounters::open(0, &wanted) {
            Ok(counters) => counters,
            Err(reason) => {
                assert!(reason.len() > 20, "{reason}");
                return None;
            }
        };
        // The work of this process itself does not count: it executes no program.
        let touched: Vec<u8> = vec![1; 8 << 20];
        assert_eq!(touched.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 8 << 20);
        let made = Command::new("sh").args(["-c", script]).stdout(Stdio::null()).status().unwrap();
        assert!(made.success());
        Some(wanted.iter().map(|event| counters.count(event).unwrap()).collect())
    }

    #[test]
    fn runs_are_counted_one_by_one_and_from_their_exec_on() {
        for _ in 0..samples(2, 20) {
            let Some(one) = run(&SOFTWARE, "true") else { return };
            assert!((20..2000).contains(&one[0]), "{one:?}");
            assert!(one[1] > 10_000, "{one:?}");
        }
        let one = run(&SOFTWARE, "true").unwrap()[0];
        let many = run(&SOFTWARE, "for i in 1 2 3 4 5 6 7 8; do sh -c true; done").unwrap()[0];
        assert!(many > 3 * one, "descendants are in it: {many} {one}");
    }

    #[test]
    fn partly_counted_events_have_no_value() {
        assert_eq!(whole([4, 1000, 1000]), Ok(4));
        assert_eq!(whole([4, 1000, 500]), Err(CountError::Multiplexed(0.5)));
        assert_eq!(whole([0, 1000, 0]), Err(CountError::Never));
        assert_eq!(whole([0, 0, 0]), Err(CountError::Never));
        assert!(CountError::Multiplexed(0.5).to_string().contains("50 %"));
    }

    #[test]
    fn reasons_name_a_way_out() {
        let message = |name, code, paranoid, guest| {
            let error = io::Error::from_raw_os_error(code);
            why_not(find(name).unwrap(), &error, &Circumstances { paranoid, guest })
        };
        assert!(message("cycles", libc::ENOENT, Some(2), true).contains("counter:page-faults"));
        assert!(!message("cycles", libc::ENOENT, Some(2), false).contains("virtual"));
        assert!(message("cycles", libc::EACCES, Some(4), false).contains("paranoid=2"));
        assert!(message("context-switches", libc::EACCES, Some(2), false).contains("paranoid=1"));
        assert!(message("page-faults", libc::EPERM, Some(1), false).contains("seccomp"));
        assert!(message("cycles", libc::EINVAL, None, false).contains("fewer"));
        assert!(message("cycles", libc::ENOSYS, None, false).contains("CONFIG_PERF_EVENTS"));
    }
}
