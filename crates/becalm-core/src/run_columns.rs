//! The columns of a run: a row each, in the order of the agent's `runs` rows.

use serde::Serialize;

/// One column of a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Column {
    pub name: &'static str,
    /// The unit; empty for a plain number or a word.
    pub unit: &'static str,
    /// Whether it is known for every run.
    pub always: bool,
    pub meaning: &'static str,
}

const fn always(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, always: true, meaning }
}

const fn maybe(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, always: false, meaning }
}

/// All columns.
pub const TABLE: &[Column] = &[
    always("seq", "", "place in the study: `first` of the request plus the index of the step; the environment variable BECALM_RUN"),
    always("workload", "", "index of the workload"),
    always("settings", "", "index of the settings"),
    always("round", "", "round of the plan; below 0: a warm-up"),
    always("padding", "bytes", "length of the environment variable BECALM_PADDING"),
    always("started_ns", "ns", "Unix time of the start: the wall clock read once at the agent's start plus monotonic raw time since, so that a stepped clock leaves no mark"),
    always("wall_ns", "ns", "CLOCK_MONOTONIC_RAW from just before execve in the child to its end: the agent's wake-up on the pidfd, less what the agent itself then waited for a CPU (/proc/thread-self/schedstat)"),
    maybe("user_ns", "ns", "CPU time in user mode of the leader and its waited-for descendants (wait4)"),
    maybe("system_ns", "ns", "CPU time in the kernel of the same"),
    maybe("wait_ns", "ns", "time on a run queue from the moment on from which wall_ns counts, only the leader's first thread, from /proc/PID/schedstat before reaping; unknown where the kernel has none"),
    maybe("max_rss_bytes", "bytes", "largest resident set (wait4); at least the 0.9 MiB of the process that starts it, which the kernel carries across execve"),
    maybe("minor_faults", "events", "page faults for which nothing was read (wait4)"),
    maybe("major_faults", "events", "page faults for which something was read (wait4)"),
    maybe("voluntary", "events", "voluntary context switches (wait4)"),
    maybe("involuntary", "events", "context switches against its will (wait4)"),
    always("outcome", "", "ok, failed (an exit code not expected, a signal, or a cleanup command that failed), timeout, aborted, refused (prepare failed or the program could not be started)"),
    maybe("status", "", "exit code, or minus the signal's number"),
    always("left_behind", "processes", "descendants that still lived when the leader ended and, after cleanup, were killed"),
    maybe("metrics", "", "numbers that the program printed, a list in the order of the workload's metrics; unknown where it has none, or the run did not end well"),
    maybe("cpu", "", "the CPU to which its step confined the program; unknown where its settings decide"),
    maybe("apart_ns", "ns", "its start less that of the program that ran at the same time; unknown where there was none, or one of the two was aborted or refused"),
];

/// The number of columns.
pub const WIDTH: usize = TABLE.len();

/// The names of the columns, in the order of the table.
pub const NAMES: [&str; WIDTH] = {
    let mut names = [""; WIDTH];
    let mut index = 0;
    while index < WIDTH {
        names[index] = TABLE[index].name;
        index += 1;
    }
    names
};
