//! The catalogue of settings and the table of what root writes know the same.

use becalm_core::knob::catalogue::{find, Scope, CATALOGUE};
use becalm_core::knob::domain::Kind;
use becalm_core::knob::table::{self, AllowedValues};

#[test]
fn the_table_of_roots_writes_has_the_values_of_each_setting() {
    for knob in CATALOGUE.iter().filter(|knob| knob.scope == Scope::Live) {
        let rows: Vec<AllowedValues> = table::rows(knob.name).map(|(_, _, values)| *values).collect();
        assert!(!rows.is_empty(), "{}", knob.name);
        let Kind::Range { low, high, .. } = knob.domain.kind else { continue };
        let special = knob.domain.special.iter().filter_map(|special| special.value.parse().ok());
        for number in special.chain([low, high]).map(|number: i64| number.to_string()) {
            let numbers = |values: &AllowedValues| {
                matches!(values, AllowedValues::Number(..) | AllowedValues::Default(..))
            };
            assert!(
                rows.iter().filter(|row| numbers(row)).all(|row| row.holds(&number)),
                "{}={number}",
                knob.name
            );
        }
    }
    for (name, path, _) in table::ROWS.iter().filter(|(name, _, _)| *name != table::FEATURE) {
        assert!(find(name).is_some_and(|knob| knob.scope == Scope::Live), "{name} {path}");
    }
    for feature in table::FEATURES {
        assert!(find(&format!("{}{}", table::FEATURE, feature.to_lowercase())).is_some(), "{feature}");
    }
}
