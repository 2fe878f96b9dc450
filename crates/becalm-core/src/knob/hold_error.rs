//! Why settings are not held, in sentences for the person.

use std::io;

use super::changes::Change;

/// In every case they have been taken off again, or the error says what differs.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error(
        "Another becalm is changing this machine: {0}. Wait until it is done; `becalm status` shows it, and `becalm reset --force` ends it."
    )]
    Busy(String),
    #[error("{title}, put on {minutes} min ago by {user}, is still on, and settings are not put on top of settings. Take it off first: becalm reset")]
    Kept { title: String, user: String, minutes: u64 },
    #[error("An earlier becalm was ended before it could put everything back, and this could not be put back now:\n{}\nLook at it, then: becalm reset", .0.join("\n"))]
    Unsettled(Vec<String>),
    #[error("This could not be put back:\n{}\nThe old values are in the journal. Look at it, then: becalm reset", .0.join("\n"))]
    Stuck(Vec<String>),
    #[error("The journal of old values cannot be written, so nothing was changed: {path}: {error}. Free some space or rights there.")]
    Journal { path: String, error: io::Error },
    #[error("{knob}: {place} does not take {value:?}: {error}. Everything was put back.")]
    Refused { knob: String, place: String, value: String, error: io::Error },
    #[error("{knob}: {place} was set to {value:?} but holds {found:?}: the kernel or a service does not accept it. Everything was put back.")]
    NotTaken { knob: String, place: String, value: String, found: String },
    #[error("{knob}: {place} does not stay {value:?}: other settings or a service change it again and again. Everything was put back.")]
    Restless { knob: String, place: String, value: String },
    #[error("{0}")]
    System(#[from] io::Error),
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
