//! Settings as they come in a request: every name looked up, every value checked, sorted by who acts on them.

use serde_json::{Map, Value};

use super::catalogue::{find, nearest};
use super::effect::{effect, supported, Effect};
use super::process::ProcessSettings;
use super::resolve::{resolve, Changes, Values};
use super::row::{Act, Group, Knob, Scope};
use super::tree::Tree;

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

/// Settings, checked.
#[derive(Default)]
pub struct Settings {
    pub process: ProcessSettings,
    pub changes: Changes,
    /// Drop the page cache before each run.
    pub cold: bool,
    /// Give every run the same environment, whatever padding its step asks for.
    pub fixed_environment: bool,
    pub empty: bool,
}

impl Settings {
    /// Read settings from a JSON object and find out what they mean on this machine. `consent`: dangerous ones too.
    pub fn read(given: &Map<String, Value>, tree: &Tree, consent: bool) -> Result<Self, SettingError> {
        let mut settings = Self { empty: given.is_empty(), ..Self::default() };
        let mut live = Values::new();
        for (name, value) in given {
            let knob = find(name)
                .ok_or_else(|| SettingError::Unknown { name: name.clone(), near: nearest(name) })?;
            let value = text(value);
            settings.take(knob, &value).ok_or_else(|| SettingError::Domain {
                name: knob.name,
                value: value.clone(),
                domain: knob.domain.words(),
            })?;
            if knob.group == Group::Dangerous && !consent && knob.scope != Scope::Process {
                return Err(SettingError::Consent(knob.name));
            }
            if knob.scope != Scope::Process {
                live.insert(knob.name, (knob, value));
            }
        }
        settings.changes = resolve(tree, &live)?;
        Ok(settings)
    }

    /// What of some settings is set at boot, checked, and whether this boot has it; the rest is left to `read`.
    pub fn at_boot(
        given: &Map<String, Value>,
        tree: &Tree,
        consent: bool,
    ) -> Result<Vec<Effect>, SettingError> {
        let knobs = given.iter().filter_map(|(name, value)| Some((find(name)?, text(value))));
        let checked = |(knob, value): (&'static Knob, String)| {
            if !knob.domain.holds(&value) {
                return Err(SettingError::Domain { name: knob.name, value, domain: knob.domain.words() });
            }
            if knob.group == Group::Dangerous && !consent {
                return Err(SettingError::Consent(knob.name));
            }
            supported(tree, knob).map_err(|reason| SettingError::Unsupported { name: knob.name, reason })?;
            Ok(effect(tree, knob, &value))
        };
        knobs.filter(|(knob, _)| knob.scope == Scope::Boot).map(checked).collect()
    }

    fn take(&mut self, knob: &'static Knob, value: &str) -> Option<()> {
        if !knob.domain.holds(value) {
            return None;
        }
        match (knob.act, knob.name) {
            (_, "environment_size") => self.fixed_environment = value == "fixed",
            (Act::BeforeRun, _) => self.cold = value == "on",
            (Act::Process, name) => self.process.set(name, value)?,
            _ => {}
        }
        Some(())
    }
}

/// A JSON value as the text that knobs take.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => match text.trim() {
            "true" => "on".to_owned(),
            "false" => "off".to_owned(),
            text => text.to_owned(),
        },
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Settings, SettingError> {
        Settings::read(value.as_object().unwrap(), &Tree::new(Path::new("/nonexistent")), false)
    }

    #[test]
    fn an_unknown_name_says_what_was_meant() {
        let error = read(json!({"niec": 1})).err().unwrap();
        assert_eq!(error.to_string(), "There is no setting \"niec\". Did you mean \"nice\"?");
    }

    #[test]
    fn json_spells_switches_in_three_ways() {
        for value in [json!(false), json!("false"), json!("off")] {
            assert!(read(json!({"aslr": value})).is_ok());
        }
        assert!(matches!(read(json!({"aslr": null})), Err(SettingError::Domain { .. })));
        assert!(matches!(read(json!({"swap": "maybe"})), Err(SettingError::Domain { .. })));
    }

    #[test]
    fn danger_needs_consent_and_what_is_missing_has_a_reason() {
        assert_eq!(read(json!({"watchdogs": "off"})).err(), Some(SettingError::Consent("watchdogs")));
        let error = read(json!({"governor": "performance"})).err().unwrap().to_string();
        assert!(error.contains("no frequency scaling"), "{error}");
        let error = read(json!({"isolcpus": "0"})).err().unwrap().to_string();
        assert!(error.contains("boot"), "{error}");
    }
}
