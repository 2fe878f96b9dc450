//! Control groups that killed agents left on this machine: `status` lists them, and `restore` and the guard
//! remove them.

use becalm_core::knob::tree::Tree;
use becalm_core::source::abandoned::{find, remove, Abandoned};
use serde_json::{json, Value};

/// The control groups that were removed, and those that remain.
#[derive(Default)]
pub struct Groups {
    gone: Vec<Abandoned>,
    there: Vec<Abandoned>,
}

impl Groups {
    /// Find the groups. A directory that stands for a machine has none.
    pub fn find(tree: &Tree) -> Self {
        Self { gone: Vec::new(), there: if tree.live { find() } else { Vec::new() } }
    }

    /// Remove the groups, and return those that were removed and those that could not be.
    pub fn remove() -> Self {
        let (gone, there) = remove();
        Self { gone, there }
    }

    /// Return the list for the answer to `status`.
    pub fn listed(&self) -> Value {
        self.there.iter().map(|each| json!({"path": each.path, "processes": each.processes})).collect()
    }

    /// Return a sentence about the removed groups; empty if there are none.
    pub fn removed(&self) -> String {
        match self.gone.len() {
            0 => String::new(),
            1 => format!(
                "Removed {}, the control group of a becalm that was killed.",
                self.gone[0].path.display()
            ),
            count => format!("Removed {count} control groups of becalms that were killed."),
        }
    }

    /// Return a sentence for each group that could not be removed.
    pub fn left(&self) -> impl Iterator<Item = String> + '_ {
        self.there.iter().map(|each| {
            let path = each.path.display();
            match (each.processes, each.error.as_deref().unwrap_or("it is in use")) {
                (0, error) => format!("{path}, the control group of a becalm that was killed, cannot be removed: {error}."),
                (count, _) => format!(
                    "{path}, the control group of a becalm that was killed, still has {count} of its processes. They \
                     are listed in its cgroup.procs: end them and reset again."
                ),
            }
        })
    }
}
