//! Settings of a request: every name looked up, every value checked, grouped by where they act.

use serde_json::{Map, Value};

use super::catalogue::{find, nearest};
use super::changes::Changes;
use super::effect::{effect, supported, Effect};
use super::process::{ProcessSettings, SLICED};
use super::resolve::{resolve, Values};
use super::row::{Group, Knob, Scope};
pub use super::setting_error::SettingError;
use super::tree::Tree;

/// The checked settings.
#[derive(Default)]
pub struct Settings {
    pub process: ProcessSettings,
    /// The settings from which `process` was built, in the order in which a child applies them.
    pub own: Vec<(&'static str, String)>,
    pub changes: Changes,
    /// Sentences on what will not be as before after a restore.
    pub lasting: Vec<String>,
}

impl Settings {
    /// Read settings from a JSON object and resolve them for this machine. `consent`: allow dangerous ones
    /// too.
    pub fn read(given: &Map<String, Value>, tree: &Tree, consent: bool) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        let mut live = Values::new();
        let mut own = Vec::new();
        for (name, value) in given {
            let knob = find(name)
                .ok_or_else(|| SettingError::Unknown { name: name.clone(), near: nearest(name) })?;
            let value = text(value);
            if !knob.domain.holds(&value) {
                return Err(out_of_domain(knob, value));
            }
            if knob.scope == Scope::Process {
                let here = knob.state(tree);
                here.map_err(|reason| SettingError::Unsupported { name: knob.name, reason })?;
                own.push((knob, value));
                continue;
            }
            if knob.group == Group::Dangerous && !consent {
                return Err(SettingError::Consent(knob.name));
            }
            live.insert(knob.name, (knob, value));
        }
        own.sort_by_key(|(knob, _)| (knob.order, knob.name));
        sliced(&own)?;
        for (knob, value) in own {
            let taken = knob.act.on_process(&mut settings.process, knob, &value);
            settings.own.push((knob.name, value.clone()));
            taken.ok_or_else(|| out_of_domain(knob, value))?;
        }
        (settings.changes, settings.lasting) = resolve(tree, &live)?;
        Ok(settings)
    }

    /// Return the settings of the boot among some settings, checked, and whether this boot has them; `read`
    /// handles the rest.
    pub fn at_boot(
        given: &Map<String, Value>,
        tree: &Tree,
        consent: bool,
    ) -> Result<Vec<Effect>, SettingError> {
        let knobs = given.iter().filter_map(|(name, value)| Some((find(name)?, text(value))));
        let checked = |(knob, value): (&'static Knob, String)| -> Result<Option<Effect>, SettingError> {
            if !knob.domain.holds(&value) {
                return Err(out_of_domain(knob, value));
            }
            if knob.group == Group::Dangerous && !consent {
                return Err(SettingError::Consent(knob.name));
            }
            supported(tree, knob).map_err(|reason| SettingError::Unsupported { name: knob.name, reason })?;
            Ok(effect(tree, knob, &value))
        };
        knobs
            .filter(|(knob, _)| knob.scope == Scope::Boot)
            .filter_map(|each| checked(each).transpose())
            .collect()
    }
}

/// Check that a slice is only set for programs whose policy has slices; the kernel would ignore it silently.
fn sliced(own: &[(&'static Knob, String)]) -> Result<(), SettingError> {
    let value = |name: &str| own.iter().find(|(knob, _)| knob.name == name).map(|(_, value)| value.as_str());
    match (value("policy"), value("slice_ns")) {
        (Some(policy), Some(slice)) if slice != "0" && !SLICED.contains(&policy) => {
            let reason =
                format!("a program of policy {policy} has none, only those of {}", SLICED.join(" and "));
            Err(SettingError::Unsupported { name: "slice_ns", reason })
        }
        _ => Ok(()),
    }
}

fn out_of_domain(knob: &Knob, value: String) -> SettingError {
    SettingError::Domain { name: knob.name, value, domain: knob.domain.words() }
}

/// Return a JSON value as the text of a knob's value.
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
    fn an_unknown_name_gets_a_suggestion() {
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
    fn a_policy_without_slices_takes_none() {
        let error = read(json!({"policy": "idle", "slice_ns": 3_000_000})).err().unwrap().to_string();
        assert!(
            error.contains("a program of policy idle has none, only those of other and batch"),
            "{error}"
        );
        for good in
            [json!({"policy": "idle", "slice_ns": 0}), json!({"policy": "batch", "slice_ns": 3_000_000})]
        {
            assert!(read(good).is_ok());
        }
    }

    #[test]
    fn danger_needs_consent_and_missing_knobs_have_a_reason() {
        assert_eq!(read(json!({"watchdogs": "off"})).err(), Some(SettingError::Consent("watchdogs")));
        let error = read(json!({"governor": "performance"})).err().unwrap().to_string();
        assert!(error.contains("no frequency scaling"), "{error}");
        let error = read(json!({"isolcpus": "0"})).err().unwrap().to_string();
        assert!(error.contains("boot"), "{error}");
    }
}
