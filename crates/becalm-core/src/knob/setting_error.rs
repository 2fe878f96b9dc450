//! The reasons why a setting cannot be used.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// A setting that is not in the catalogue, that has a value outside of its domain, or that this machine does
/// not have.
#[derive(Debug, PartialEq, Eq)]
pub enum SettingError {
    Unknown { name: String, near: Option<&'static str> },
    Domain { name: &'static str, value: String, domain: String },
    Unsupported { name: &'static str, reason: String },
    Consent(&'static str),
}

impl Error for SettingError {}

impl Display for SettingError {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        match self {
            Self::Unknown { name, near: None } => write!(to, "There is no setting {name:?}."),
            Self::Unknown { name, near: Some(near) } => {
                write!(to, "There is no setting {name:?}. Did you mean {near:?}?")
            }
            Self::Domain { name, value, domain } => {
                write!(to, "The setting {name} cannot be {value}: it takes {domain}.")
            }
            Self::Unsupported { name, reason } => {
                write!(to, "The setting {name} is not supported here: {reason}. Leave it out.")
            }
            Self::Consent(name) => write!(
                to,
                "The setting {name} can make the machine slow, hot or hard to reach, so it needs consent: --dangerous"
            ),
        }
    }
}
