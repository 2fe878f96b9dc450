//! The reason why a request is refused: a kind of docs/reference/protocol.md, and a sentence for the user.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

/// The kind and message of an `error` event. If settings could not be applied, they were restored, or the
/// message names the places that differ.
#[derive(Debug)]
pub struct Failure {
    pub kind: &'static str,
    pub message: String,
}

impl Failure {
    /// Return an error of a kind that docs/reference/protocol.md lists.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Return the failure that another becalm has the machine.
    pub fn busy(who: &str) -> Self {
        Self::new(
            "busy",
            format!(
                "Another becalm is changing this machine: {who}. Wait until it is done; `becalm status` shows it, and \
                 `becalm reset --force` ends it."
            ),
        )
    }

    /// Return the failure to restore these places, a sentence each, after an earlier becalm.
    pub fn unsettled(places: &[String]) -> Self {
        Self::new(
            "unsettled",
            format!(
                "An earlier becalm was ended before it could restore everything, and this could not be restored now:\n{}\n\
                 Look at it, then: becalm reset",
                places.join("\n")
            ),
        )
    }

    /// Return the failure of this becalm to restore these places.
    pub fn stuck(places: &[String]) -> Self {
        Self::new(
            "unsettled",
            format!(
                "This could not be restored:\n{}\nThe old values are in the journal. Look at it, then: becalm reset",
                places.join("\n")
            ),
        )
    }

    /// Return the failure to write one of becalm's files.
    pub fn journal(path: &str, error: &io::Error) -> Self {
        Self::new(
            "journal",
            format!(
                "The journal of old values cannot be written, so nothing was changed: {path}: {error}. Free some space or \
                 rights there."
            ),
        )
    }
}

impl Error for Failure {}

impl Display for Failure {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        write!(to, "{}", self.message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new("system", format!("The machine's settings could not be changed: {error}."))
    }
}
