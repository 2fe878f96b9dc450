//! The reason why a request is refused: the errors of this crate as kinds of docs/reference/protocol.md.

pub use becalm_settings::failure::Failure;

use crate::boot::BootError;
use crate::exec::program::ProgramError;
use crate::knob::setting_error::SettingError;
use crate::types::TextError;

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Self {
        let kind = match error {
            ProgramError::NotInPath(..) | ProgramError::NotFound(_) => "not_found",
            ProgramError::NotExecutable { .. } => "not_executable",
            ProgramError::Directory { .. } | ProgramError::Input { .. } => "not_found",
            ProgramError::Text(_) | ProgramError::Empty => "usage",
        };
        Self::new(kind, error.to_string())
    }
}

impl From<TextError> for Failure {
    fn from(error: TextError) -> Self {
        Self::new("usage", format!("{error}."))
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

impl From<BootError> for Failure {
    fn from(error: BootError) -> Self {
        let kind = match error {
            BootError::Unsupported(_) | BootError::Keep(_) | BootError::Kept(_) => "unsupported",
            BootError::Word(_) => "usage",
            BootError::Domain(_) => "domain",
            BootError::Consent(_) => "consent",
            BootError::Refused { .. } => "refused",
            BootError::Record { .. } => "journal",
            BootError::Stuck(_) | BootError::Damaged { .. } => "unsettled",
            BootError::System(_) => "system",
        };
        let message = match error {
            BootError::System(error) => format!("The machine's next boot could not be changed: {error}."),
            error => error.to_string(),
        };
        Self::new(kind, message)
    }
}
