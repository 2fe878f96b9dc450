//! Why settings are not held, in sentences for the person.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

use super::changes::Change;

/// In every case they have been taken off again, or the error says what differs.
#[derive(Debug)]
pub enum HoldError {
    Busy(String),
    Kept { title: String, user: String, minutes: u64 },
    Unsettled(Vec<String>),
    Stuck(Vec<String>),
    Journal { path: String, error: io::Error },
    Refused { knob: String, place: String, value: String, error: io::Error },
    NotTaken { knob: String, place: String, value: String, found: String },
    Restless { knob: String, place: String, value: String },
    System(io::Error),
}

impl Error for HoldError {}

impl From<io::Error> for HoldError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl Display for HoldError {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        match self {
            Self::Busy(who) => write!(
                to,
                "Another becalm is changing this machine: {who}. Wait until it is done; `becalm status` shows it, and \
                 `becalm reset --force` ends it."
            ),
            Self::Kept { title, user, minutes } => write!(
                to,
                "{title}, put on {minutes} min ago by {user}, is still on, and settings are not put on top of settings. Take it \
                 off first: becalm reset"
            ),
            Self::Unsettled(places) => write!(
                to,
                "An earlier becalm was ended before it could put everything back, and this could not be put back now:\n{}\n\
                 Look at it, then: becalm reset",
                places.join("\n")
            ),
            Self::Stuck(places) => write!(
                to,
                "This could not be put back:\n{}\nThe old values are in the journal. Look at it, then: becalm reset",
                places.join("\n")
            ),
            Self::Journal { path, error } => write!(
                to,
                "The journal of old values cannot be written, so nothing was changed: {path}: {error}. Free some space or \
                 rights there."
            ),
            Self::Refused { knob, place, value, error } => {
                write!(to, "{knob}: {place} does not take {value:?}: {error}. Everything was put back.")
            }
            Self::NotTaken { knob, place, value, found } => write!(
                to,
                "{knob}: {place} was set to {value:?} but holds {found:?}: the kernel or a service does not accept it. \
                 Everything was put back."
            ),
            Self::Restless { knob, place, value } => write!(
                to,
                "{knob}: {place} does not stay {value:?}: other settings or a service change it again and again. Everything \
                 was put back."
            ),
            Self::System(error) => write!(to, "{error}"),
        }
    }
}

impl HoldError {
    /// A place that could not be read or written.
    pub fn refused(change: &Change, error: io::Error) -> Self {
        Self::Refused {
            knob: change.knob.to_owned(),
            place: change.place.shown(),
            value: change.value.clone(),
            error,
        }
    }
}
