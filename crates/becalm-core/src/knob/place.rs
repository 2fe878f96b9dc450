//! Places: the pieces of machine state that a setting changes, each with a value that can be read, written and kept in
//! the journal. A place knows how to put any of its values back; who holds them and in which order is `hold`'s affair.

use std::io;

use serde::{Deserialize, Serialize};

use super::choice::chosen;
use super::controller;
use super::cpus;
use super::cpuset::{self, Cpuset};
use super::features;
use super::interrupt;
use super::member;
use super::swap;
use super::task::{affinity, process_state, same_task, set_affinity, signal};
use super::threads;
use super::tree::Tree;
use super::weight::Weighted;

/// The process that keeps a device open while settings stay on.
pub const KEEPER: &str = "becalm-keeper";

/// The device whose open descriptions bound the wake-up latency, each an i32 in us (cpuidle.rst).
pub const LATENCY: &str = "/dev/cpu_dma_latency";

/// One piece of state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
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
    /// Whether a cgroup hands a controller to its children: "on" or "off".
    Controller {
        path: String,
        #[serde(default = "cpuset_controller")]
        name: String,
    },
    /// A group of ours with a weight, its value; or "absent".
    Weighted(Weighted),
    /// Where an interrupt arrives. Nothing writes it but the kernel: `away` has it go back.
    Arrival { irq: u32, device: String },
    /// The cpuset of v1 that one task is in.
    Member { tid: i32, start: u64 },
    /// The bound on wake-up latency, in us; kept only as long as a process holds the device open.
    Latency,
}

impl Place {
    /// For messages and tables.
    pub fn shown(&self) -> String {
        match self {
            Place::File { path } | Place::Mask { path } | Place::Controller { path, .. } => path.clone(),
            Place::Feature { path, name } => format!("{path} {name}"),
            Place::Swap { area } => format!("swap area {area}"),
            Place::Process { pid, name, .. } => format!("process {pid} ({name})"),
            Place::Affinity { tid, .. } => format!("CPUs of task {tid}"),
            Place::Threads { pid, name, .. } => format!("CPUs of process {pid} ({name})"),
            Place::Arrival { irq, device } => interrupt::shown(*irq, device),
            Place::Member { tid, .. } => format!("cpuset of task {tid}"),
            Place::Cpuset(set) => set.path.clone(),
            Place::Weighted(group) => group.path.clone(),
            Place::Latency => LATENCY.to_owned(),
        }
    }

    /// The present value.
    pub fn read(&self, tree: &Tree) -> io::Result<String> {
        match self {
            Place::File { path } => Ok(chosen(&tree.read(path)?).to_owned()),
            Place::Feature { path, name } => features::read(tree, path, name),
            Place::Mask { path } => tree.read(path),
            Place::Swap { area } => swap::read(tree, area),
            Place::Process { pid, start, .. } => Ok(process_state(tree, *pid, *start).to_owned()),
            Place::Affinity { tid, start } => affinity(tree, *tid, *start),
            Place::Threads { pid, start, .. } => threads::read(tree, *pid, *start),
            Place::Arrival { irq, .. } => interrupt::arrival(tree, *irq),
            Place::Member { tid, start } => {
                same_task(tree, *tid, *start)?;
                member::of_task(tree, *tid)
            }
            Place::Cpuset(set) => Ok(set.read(tree).to_owned()),
            Place::Weighted(group) => group.read(tree),
            Place::Controller { path, name } => {
                let on = controller::is_listed(tree, path, name)?;
                Ok(if on { "on" } else { "off" }.to_owned())
            }
            Place::Latency => latency(tree),
        }
    }

    /// The present value of a mask that may just have read as an older one (`interrupt`), a moment later.
    pub fn read_again(&self, tree: &Tree) -> Option<String> {
        match self {
            Place::Mask { .. } => interrupt::masks(tree, &[self.irq()?]).into_values().next(),
            _ => None,
        }
    }

    /// Make `value` the present value. A running machine's `Latency` is not written here: whoever holds it writes it.
    pub fn write(&self, tree: &Tree, value: &str) -> io::Result<()> {
        match self {
            Place::File { path } | Place::Mask { path } => tree.write(path, value),
            Place::Feature { path, name } => features::write(tree, path, name, value),
            Place::Swap { area } => swap::write(tree, area, value),
            Place::Process { pid, start, .. } => signal(tree, *pid, *start, value),
            Place::Affinity { tid, start } => set_affinity(tree, *tid, *start, value),
            Place::Threads { pid, start, .. } => threads::write(tree, *pid, *start, value),
            Place::Arrival { .. } => Ok(()),
            Place::Member { tid, start } => match same_task(tree, *tid, *start) {
                Ok(()) => member::join(tree, *tid, value),
                Err(_) => Ok(()),
            },
            Place::Cpuset(set) => set.write(tree, value),
            Place::Weighted(group) => group.write(tree, value),
            Place::Controller { path, name } => controller::switch(tree, path, name, value == "on"),
            Place::Latency if tree.live => Ok(()),
            Place::Latency => {
                let number: i32 = value.parse().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
                tree.replace(LATENCY, &number.to_ne_bytes())
            }
        }
    }

    /// Whether a value that came as a side effect is not one that the kernel gives, but somebody's own choice: the kernel
    /// widens the CPUs of a task, it never binds it; and it moves a task out of an empty cpuset to one above it.
    pub fn chosen_since(&self, now: &str, original: &str) -> bool {
        let sets = || Some((cpus::parse(now)?, cpus::parse(original)?));
        match self {
            Place::Affinity { .. } => sets().is_some_and(|(now, original)| !now.is_superset(&original)),
            Place::Member { .. } => !member::is_above(now, original),
            _ => false,
        }
    }

    /// The interrupt whose mask or arrival this is.
    pub fn irq(&self) -> Option<u32> {
        match self {
            Place::Mask { path } => interrupt::of_mask_file(path),
            Place::Arrival { irq, .. } => Some(*irq),
            _ => None,
        }
    }

    /// Side effects are put back in this order: a set before its members, and both before the CPUs of a task, which
    /// joining a set changes.
    pub fn rank(&self) -> u8 {
        match self {
            Place::Member { .. } => 1,
            Place::Affinity { .. } => 2,
            _ => 0,
        }
    }

    /// Whether two values mean the same: 020 and 20, masks with and without leading zeros.
    pub fn agree(&self, one: &str, other: &str) -> bool {
        let numbers = || matches!((one.parse::<i64>(), other.parse::<i64>()), (Ok(a), Ok(b)) if a == b);
        match self {
            _ if one == other => true,
            Place::Mask { .. } => cpus::unmask(one).is_some_and(|set| Some(set) == cpus::unmask(other)),
            Place::Affinity { .. } | Place::Arrival { .. } => {
                cpus::parse(one).is_some_and(|set| Some(set) == cpus::parse(other))
            }
            Place::Threads { .. } => threads::agree(one, other),
            Place::File { .. } | Place::Weighted(_) => numbers(),
            // Automatic priorities are negative and given out anew.
            Place::Swap { .. } => one.starts_with('-') && other.starts_with('-'),
            _ => false,
        }
    }
}

/// The controller of journals that name none: they are of a becalm that switched no other.
fn cpuset_controller() -> String {
    cpuset::NAME.to_owned()
}

fn latency(tree: &Tree) -> io::Result<String> {
    let bytes = tree.bytes(LATENCY)?;
    match bytes.first_chunk::<4>() {
        Some(word) => Ok(i32::from_ne_bytes(*word).to_string()),
        None => Err(io::Error::from_raw_os_error(libc::ENODATA)),
    }
}
