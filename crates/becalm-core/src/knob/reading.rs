//! Whether settings can be read while others are on: what they mean must not depend on what those have changed.

use super::changes::Changes;
use super::place::Place;
use super::tree::Tree;

/// Files whose values say nothing about what other settings mean. Those of CPUs do: without turbo the highest frequency is
/// another one, and a cpuset of somebody else's that was made smaller looks as if it needed no change.
const PLAIN: [&str; 2] = ["/proc/sys/", "/sys/kernel/"];

const BALANCE: &str = "/cpuset.sched_load_balance";

/// Whether something that is on may be taken for the machine's own state where other settings are read (`settings`).
pub fn misleads(tree: &Tree, on: &Changes) -> bool {
    // Since Linux 7 partitions are among the CPUs that are said to be isolated since the boot.
    !on.offline.is_empty()
        || !tree.isolated().is_disjoint(&on.taken)
        || on.writes.iter().any(|change| is_ambiguous(&change.place))
}

fn is_ambiguous(place: &Place) -> bool {
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
