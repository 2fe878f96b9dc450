//! Whether settings can be read while others are on: what they mean must not depend on what those have changed.

use super::super::place::Place;
use super::Hold;

/// Files whose values say nothing about what other settings mean. Those of CPUs do: without turbo the highest frequency is
/// another one, and a cpuset of somebody else's that was made smaller looks as if it needed no change.
const PLAIN: [&str; 2] = ["/proc/sys/", "/sys/kernel/"];

const BALANCE: &str = "/cpuset.sched_load_balance";

impl Hold {
    /// Whether something that is on may be taken for the machine's own state where other settings are read (`Settings`).
    pub fn misleads(&self) -> bool {
        // Since Linux 7 partitions are among the CPUs that are said to be isolated since the boot.
        let isolated = self.tree.isolated();
        let on = self.entries.iter().zip(&self.left).filter(|(_, left)| left.is_some());
        !self.offline.is_empty()
            || !isolated.is_disjoint(&self.taken)
            || on.into_iter().any(|(entry, _)| misleads(&entry.place))
    }
}

fn misleads(place: &Place) -> bool {
    match place {
        Place::File { path } => {
            !PLAIN.iter().any(|start| path.starts_with(start)) && !path.ends_with(BALANCE)
        }
        Place::Swap { .. } | Place::Process { .. } | Place::Threads { .. } | Place::Controller { .. } => true,
        Place::Feature { .. }
        | Place::Mask { .. }
        | Place::Affinity { .. }
        | Place::Cpuset(_)
        | Place::Weighted(_)
        | Place::Arrival { .. }
        | Place::Member { .. }
        | Place::Latency => false,
    }
}
