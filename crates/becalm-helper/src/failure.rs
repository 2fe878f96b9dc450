//! Why a request is refused: a kind of docs/reference/protocol.md, and a sentence.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

use becalm_core::knob::hold_error::HoldError;
use becalm_core::knob::lock::LockError;
use becalm_core::knob::setting_error::SettingError;

/// The kind and message of an `error` event.
#[derive(Debug)]
pub struct Failure {
    pub kind: &'static str,
    pub message: String,
}

impl Failure {
    /// An error of a kind that docs/reference/protocol.md lists.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl Error for Failure {}

impl Display for Failure {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        write!(to, "{}", self.message)
    }
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Self {
        let kind = match error {
            SettingError::Unknown { .. } => "usage",
            SettingError::Domain { .. } => "domain",
            SettingError::Unsupported { .. } => "unsupported",
            SettingError::Consent(_) => "consent",
        };
        Self::new(kind, error.to_string())
    }
}

impl From<HoldError> for Failure {
    fn from(error: HoldError) -> Self {
        let kind = match error {
            HoldError::Busy(_) => "busy",
            HoldError::Kept { .. } => "kept",
            HoldError::Unsettled(_) | HoldError::Stuck(_) => "unsettled",
            HoldError::Journal { .. } => "journal",
            HoldError::Refused { .. } | HoldError::NotTaken { .. } | HoldError::Restless { .. } => "refused",
            HoldError::System(_) => "system",
        };
        let message = match error {
            HoldError::System(error) => format!("The machine's settings could not be changed: {error}."),
            error => error.to_string(),
        };
        Self::new(kind, message)
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held(who) => HoldError::Busy(who).into(),
            LockError::System(error) => error.into(),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        HoldError::System(error).into()
    }
}
