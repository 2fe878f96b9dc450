//! Places: the pieces of machine state that a setting changes. How each is read and written is in `state`;
//! who holds them, and in which order, in `hold`.

use serde::{Deserialize, Serialize};

/// The process that keeps a device open while settings stay on.
pub const KEEPER: &str = "becalm-keeper";

/// The device whose open descriptions bound the wake-up latency, each an i32 in us (cpuidle.rst).
pub const LATENCY: &str = "/dev/cpu_dma_latency";

/// One piece of state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Place {
    /// A file that holds one value.
    File { path: String },
    /// One of the scheduler's features, by the kernel's name, in the file of all of them: "on" or "off".
    Feature { path: String, name: String },
    /// A file that holds a mask of CPUs.
    Mask { path: String },
    /// A swap area; its value is its priority, or "off".
    Swap { area: String },
    /// A process, known by its number and start time.
    Process { pid: i32, start: u64, name: String },
    /// The CPUs that one task may use.
    Affinity { tid: i32, start: u64 },
    /// The CPUs of all threads of a running process, and of what it forks.
    Threads { pid: i32, start: u64, name: String },
    /// A cpuset of ours.
    Cpuset(Cpuset),
    /// Whether the root of version 2 passes a controller on to the groups below: "on" or "off".
    Controller { name: String },
    /// A group of ours with a weight; its value is the weight, or "absent".
    Weighted(Weighted),
    /// The CPUs at which an interrupt arrives. Only the kernel changes it: `away` brings it back.
    Arrival { irq: u32, device: String },
    /// The cpuset of v1 that one task is in.
    Member { tid: i32, start: u64 },
    /// The bound on wake-up latency, in us; it lasts only as long as a process holds the device open.
    Latency,
}

/// A cpuset of ours, which exists only while it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpuset {
    pub version: u8,
    pub cpus: String,
    pub mems: String,
    /// Whether it holds everybody except the program.
    pub gather: bool,
}

/// A group of ours with a weight, which exists only while it is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    pub version: u8,
}
