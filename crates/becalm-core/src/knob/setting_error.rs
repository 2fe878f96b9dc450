//! Why a setting cannot be had.

/// A setting that is not in the catalogue, whose value is not in its domain, or that this machine does not have.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingError {
    #[error("There is no setting {name:?}.{}", .near.map(|n| format!(" Did you mean {n:?}?")).unwrap_or_default())]
    Unknown { name: String, near: Option<&'static str> },
    #[error("The setting {name} cannot be {value}: it takes {domain}.")]
    Domain { name: &'static str, value: String, domain: String },
    #[error("The setting {name} is not supported here: {reason}. Leave it out.")]
    Unsupported { name: &'static str, reason: String },
    #[error(
        "The setting {0} can make the machine slow, hot or hard to reach, so it needs consent: --dangerous"
    )]
    Consent(&'static str),
}
