//! A check whether settings can be read while others are on: their meaning must not depend on what the others
//! have changed.

use super::changes::Changes;
use super::place::Place;
use super::tree::Tree;

/// The files whose values do not affect the meaning of other settings. Those of CPUs do: without turbo the
/// highest frequency is lower, and somebody else's cpuset that becalm made smaller looks as if it needed no
/// change.
const PLAIN: [&str; 2] = ["/proc/sys/", "/sys/kernel/"];

const BALANCE: &str = "/cpuset.sched_load_balance";

/// Return whether something that is on may be taken for the machine's own state when other settings are read
/// (`settings`).
pub fn misleads(tree: &Tree, on: &Changes) -> bool {
    // Since Linux 7 partitions are among the CPUs that count as isolated since the boot.
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
