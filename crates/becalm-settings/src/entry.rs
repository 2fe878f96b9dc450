//! A place of settings with what it held before: what a journal has of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::controller::EXPEDITED;
use super::place::Place;

/// A place with what it held before and what we made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub knob: String,
    pub place: Place,
    pub original: String,
    #[serde(skip)]
    pub ours: Vec<String>,
    /// The value that was asked for, by the value that the kernel made of it.
    #[serde(skip)]
    pub made_of: BTreeMap<String, String>,
    pub side_effect: bool,
    /// When it was recorded, in clock ticks since the boot, of a process whose children inherit what it gets; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: u64,
    /// The newest directory of a CPU when such a process was recorded (`widened`); else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub newest: u64,
    /// A value was announced and not yet read back: whatever the place holds may be what the kernel made of it.
    #[serde(skip)]
    pub doubtful: bool,
    /// The value that it was last given; None while it has its original value.
    #[serde(skip)]
    pub left: Option<Left>,
    /// It is changed by what is done to others now.
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
    /// A place that was given nothing yet.
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

    /// Whether this is a place of settings, or changes with them: not the kernel's haste while groups come and go, which
    /// is over before anybody looks.
    pub fn of_settings(&self) -> bool {
        let haste = matches!(&self.place, Place::File { path } if path == EXPEDITED);
        !haste && self.may_be_on()
    }

    /// Whether what the place holds may come from becalm: no value is ours of what was disowned.
    pub fn may_be_on(&self) -> bool {
        self.side_effect || !self.ours.is_empty()
    }

    /// Whether a value is the original or one of ours, and not somebody else's.
    pub fn knows(&self, value: &str) -> bool {
        let place = &self.place;
        place.agree(value, &self.original) || self.ours.iter().any(|ours| place.agree(value, ours))
    }

    /// One more value of ours: what was asked for, or what the kernel made of it.
    pub fn owns_up(&mut self, value: String, asked: Option<String>) {
        match asked {
            Some(asked) => drop(self.made_of.insert(value.clone(), asked)),
            None => drop(self.made_of.remove(&value)),
        }
        if !self.ours.contains(&value) {
            self.ours.push(value);
        }
    }
}
