//! Changes: the places that get values, and the places that change with them.

use crate::cpus::Cpus;
use crate::failure::Failure;
use crate::place::Place;

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub knob: String,
    pub place: Place,
    pub value: String,
    /// Whether the setting fails when this write does; the kernel may refuse single interrupts.
    pub required: bool,
}

/// All that settings change on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub writes: Vec<Change>,
    /// Places that the writes change as a side effect, to be restored with them.
    pub watched: Vec<Place>,
    /// CPUs that tasks lose meanwhile. The tasks bound to them are found just before they are taken: tasks
    /// come and go.
    pub taken: Cpus,
    /// CPUs that go offline.
    pub offline: Cpus,
}

impl Changes {
    /// Return all places that are changed, written or as a side effect.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.writes.iter().map(|change| &change.place).chain(&self.watched)
    }

    /// Return the CPUs that tasks lose, and those that go offline.
    pub fn gone(&self) -> (Cpus, Cpus) {
        (self.taken.clone(), self.offline.clone())
    }

    /// Return the task file of the group that programs join.
    pub fn join(&self) -> Option<String> {
        self.writes.iter().find_map(|change| change.place.joined())
    }
}

impl Change {
    /// Return the failure of a place that did not take its value; `what` follows its name in the sentence.
    pub fn refused(&self, what: &str) -> Failure {
        let Self { knob, place, .. } = self;
        Failure::new("refused", format!("{knob}: {} {what}. Everything was restored.", place.shown()))
    }
}
