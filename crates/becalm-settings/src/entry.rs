//! A place of settings with the value that it held before, as the journal records it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::controller::EXPEDITED;
use super::place::Place;

/// A place with the value that it held before and those that becalm gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub knob: String,
    pub place: Place,
    pub original: String,
    #[serde(skip)]
    pub ours: Vec<String>,
    /// For each value that the kernel made of another one: the value that becalm asked for.
    #[serde(skip)]
    pub made_of: BTreeMap<String, String>,
    pub side_effect: bool,
    /// The time when it was recorded, in clock ticks since the boot, for a process whose children inherit its
    /// value; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: u64,
    /// The newest directory of a CPU when such a process was recorded (`widened`); else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub newest: u64,
    /// A value was announced and not yet read back, so the place may hold what the kernel made of it.
    #[serde(skip)]
    pub doubtful: bool,
    /// The value that it was last given; None while it has its original value.
    #[serde(skip)]
    pub left: Option<Left>,
    /// It changes now as a side effect of writes to other places.
    #[serde(skip)]
    pub watched: bool,
}

/// The value that a place was last given, and the value that it held afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub asked: String,
    pub found: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Entry {
    /// Describe a place that was given no value yet.
    pub fn new(knob: &str, place: Place, original: String) -> Self {
        Self {
            knob: knob.to_owned(),
            place,
            original,
            ours: Vec::new(),
            made_of: BTreeMap::new(),
            side_effect: false,
            since: 0,
            newest: 0,
            doubtful: false,
            left: None,
            watched: false,
        }
    }

    /// Return whether this place belongs to settings or changes with them. The expediting of grace periods
    /// while groups come and go does not: it is over before anybody looks.
    pub fn of_settings(&self) -> bool {
        let haste = matches!(&self.place, Place::File { path } if path == EXPEDITED);
        !haste && self.may_hold_ours()
    }

    /// Return whether the value of the place may come from becalm. A disowned place holds no value of ours.
    pub fn may_hold_ours(&self) -> bool {
        self.side_effect || !self.ours.is_empty()
    }

    /// Return whether a value is the original or one of ours, so not somebody else's.
    pub fn knows(&self, value: &str) -> bool {
        let place = &self.place;
        place.agree(value, &self.original) || self.ours.iter().any(|ours| place.agree(value, ours))
    }

    /// Record a value as ours: one that was asked for, or one that the kernel made of `asked`.
    pub fn record_ours(&mut self, value: String, asked: Option<String>) {
        match asked {
            Some(asked) => drop(self.made_of.insert(value.clone(), asked)),
            None => drop(self.made_of.remove(&value)),
        }
        if !self.ours.contains(&value) {
            self.ours.push(value);
        }
    }
}
