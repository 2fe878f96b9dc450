//! The value of a place, as text that can be read, written and stored in the journal. A place can restore any
//! of its values.

use std::io;

use super::choice::chosen;
use super::controller::{self, CONTROL};
use super::cpus;
use super::features;
use super::interrupt;
use super::member;
use super::place::{Place, LATENCY};
use super::swap;
use super::task::{affinity, process_state, same_task, set_affinity, signal};
use super::threads;
use super::tree::Tree;

impl Place {
    /// Return the name of the place in messages and tables.
    pub fn shown(&self) -> String {
        match self {
            Place::File { path } | Place::Mask { path } => path.clone(),
            Place::Controller { .. } => CONTROL.to_owned(),
            Place::Feature { path, name } => format!("{path} {name}"),
            Place::Swap { area } => format!("swap area {area}"),
            Place::Process { pid, name, .. } => format!("process {pid} ({name})"),
            Place::Affinity { tid, .. } => format!("CPUs of task {tid}"),
            Place::Threads { pid, name, .. } => format!("CPUs of process {pid} ({name})"),
            Place::Arrival { irq, device } => interrupt::shown(*irq, device),
            Place::Member { tid, .. } => format!("cpuset of task {tid}"),
            Place::Cpuset(set) => set.path(),
            Place::Weighted(group) => group.path(),
            Place::Latency => LATENCY.to_owned(),
        }
    }

    /// Return the present value.
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
            Place::Controller { name } => {
                let on = controller::is_listed(tree, CONTROL, name)?;
                Ok(if on { "on" } else { "off" }.to_owned())
            }
            Place::Latency => latency(tree),
        }
    }

    /// Return the present value of a mask, read a moment later: it may just have read as an older one
    /// (`interrupt`).
    pub fn read_again(&self, tree: &Tree) -> Option<String> {
        match self {
            Place::Mask { .. } => interrupt::masks(tree, &[self.irq()?]).into_values().next(),
            _ => None,
        }
    }

    /// Make `value` the present value. The `Latency` of a running machine is not written here, but by its
    /// holder.
    pub fn write(&self, tree: &Tree, value: &str) -> io::Result<()> {
        if let Some(done) = tree.act(self, value) {
            return done;
        }
        match self {
            Place::File { path } | Place::Mask { path } => tree.write(path, value),
            Place::Feature { path, name } => features::write(tree, path, name, value),
            Place::Swap { area } => swap::write(tree, area, value),
            Place::Process { pid, start, .. } => signal(tree, *pid, *start, value),
            Place::Affinity { tid, start } => set_affinity(tree, *tid, *start, value),
            Place::Threads { pid, start, .. } => threads::write(tree, *pid, *start, value),
            Place::Arrival { .. } | Place::Latency => Ok(()),
            Place::Member { tid, start } => match same_task(tree, *tid, *start) {
                Ok(()) => member::join(tree, *tid, value),
                Err(_) => Ok(()),
            },
            Place::Cpuset(set) => set.write(tree, value),
            Place::Weighted(group) => group.write(tree, value),
            Place::Controller { name } => controller::switch(tree, name, value == "on"),
        }
    }

    /// Return whether a value that came as a side effect cannot come from the kernel, so that somebody chose
    /// it: the kernel widens the CPUs of a task and never binds it; and it moves a task out of an empty
    /// cpuset to one above it.
    pub fn chosen_since(&self, now: &str, original: &str) -> bool {
        let sets = || Some((cpus::parse(now)?, cpus::parse(original)?));
        match self {
            Place::Affinity { .. } => sets().is_some_and(|(now, original)| !now.is_superset(&original)),
            Place::Member { .. } => !member::is_above(now, original),
            _ => false,
        }
    }

    /// Return the task file of the group that programs join, if this is one for them.
    pub fn joined(&self) -> Option<String> {
        match self {
            Place::Cpuset(set) if !set.gather => Some(set.tasks()),
            Place::Weighted(group) => Some(group.tasks()),
            _ => None,
        }
    }

    /// Return the interrupt whose mask or arrival this is.
    pub fn irq(&self) -> Option<u32> {
        match self {
            Place::Mask { path } => interrupt::of_mask_file(path),
            Place::Arrival { irq, .. } => Some(*irq),
            _ => None,
        }
    }

    /// Return the order in which side effects are restored: a set before its members, and both before the
    /// CPUs of a task, which joining a set changes.
    pub fn rank(&self) -> u8 {
        match self {
            Place::Member { .. } => 1,
            Place::Affinity { .. } => 2,
            _ => 0,
        }
    }

    /// Return whether two values mean the same: 020 and 20, masks with and without leading zeros.
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
            // The kernel chooses negative priorities, and chooses them anew.
            Place::Swap { .. } => one.starts_with('-') && other.starts_with('-'),
            _ => false,
        }
    }
}

fn latency(tree: &Tree) -> io::Result<String> {
    let bytes = tree.bytes(LATENCY)?;
    match bytes.first_chunk::<4>() {
        Some(word) => Ok(i32::from_ne_bytes(*word).to_string()),
        None => Err(io::Error::from_raw_os_error(libc::ENODATA)),
    }
}
