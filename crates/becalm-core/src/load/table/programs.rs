//! The programs of the runs, from the kernel's accounts.

use crate::load::column::{Column, Form, Kind, Pooling};
use crate::load::table::kinds::{ALWAYS, GROUP, RECORD, TASKS};

pub const COLUMNS: &[Column] = &[
    Column {
        name: "level",
        pooling: Pooling::Min,
        meaning: "how much the kernel reports about the programs: 0 only CPU time (wait4), 1 /proc/PID/schedstat, 2 taskstats, 3 taskstats with delay accounting",
        ..ALWAYS
    },
    Column {
        name: "scope",
        form: Form::Word,
        meaning: "the part of the programs that the next columns cover: \"leader\" (the first thread), \"group\" (all threads of the first process), \"tree\" (it and all descendants that had ended when it did)",
        ..ALWAYS
    },
    Column {
        name: "exec_ns",
        meaning: "CPU time of the programs by the scheduler's clock, from the moment at which wall_ns of their runs begins",
        ..TASKS
    },
    Column {
        name: "wait_ns",
        meaning: "time on a run queue, ready but not running, from the same moment on: the wait of a new process before its program begins is not included",
        ..TASKS
    },
    Column {
        name: "block_ns",
        meaning: "time spent waiting for block devices; needs delay accounting (kernel.task_delayacct; `becalm watch` and `explain --designed` switch it on as root, for their runs), as the next ones do; they contain one another, so do not add them up",
        ..TASKS
    },
    Column {
        name: "swapin_ns",
        meaning: "time spent waiting for pages to be swapped in",
        ..TASKS
    },
    Column {
        name: "reclaim_ns",
        meaning: "time spent freeing memory before getting some",
        ..TASKS
    },
    Column {
        name: "thrashing_ns",
        meaning: "time spent waiting for pages that had been dropped too early",
        ..TASKS
    },
    Column {
        name: "compact_ns",
        meaning: "time spent compacting memory",
        ..TASKS
    },
    Column {
        name: "copy_ns",
        meaning: "time spent waiting for copies of write-protected pages",
        ..TASKS
    },
    Column {
        name: "irq_delay_ns",
        meaning: "time spent waiting for interrupts that ran on its CPU",
        ..TASKS
    },
    Column {
        name: "quota_ns",
        meaning: "time in which quotas of control groups throttled the programs",
        ..GROUP
    },
    Column {
        name: "own_cpu_pressure_ns",
        meaning: "time in which a task of the programs' own control group waited for a CPU (PSI some); unknown, as the next two, for programs that settings put into another group",
        ..GROUP
    },
    Column {
        name: "own_io_pressure_ns",
        meaning: "time in which a task of the programs' own control group waited for a device (PSI some)",
        ..GROUP
    },
    Column {
        name: "own_memory_pressure_ns",
        meaning: "time in which a task of the programs' own control group waited for memory (PSI some)",
        ..GROUP
    },
    Column {
        name: "tasks",
        unit: "tasks",
        meaning: "threads and processes in the sums",
        ..TASKS
    },
    Column {
        name: "lost",
        unit: "tasks",
        meaning: "reports of ended tasks that were lost: the sums are too small where this is not 0",
        ..TASKS
    },
    Column {
        name: "cost_ns",
        unit: "ns",
        kind: Kind::Difference,
        pooling: Pooling::Sum,
        always: false,
        meaning: "CPU time that observing took, the sampler's thread included",
        ..RECORD
    },
];
