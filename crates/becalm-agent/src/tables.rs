//! `becalm-agent tables` prints the engine's tables as one JSON object, from which everything above the agent
//! learns what exists. It is written next to the Python package when that is built (`make build`, setup.py),
//! and never by hand.

use becalm_core::boot::loader::LOADERS;
use becalm_core::kernel::table as kernels;
use becalm_core::knob::catalogue as knobs;
use becalm_core::load::table as load_columns;
use becalm_core::quantity;
use becalm_core::run_columns;
use becalm_core::source::table as sources;
use serde_json::{json, Value};

/// Return all tables.
pub fn tables() -> Value {
    let loaders: Vec<Value> = LOADERS.iter().map(|loader| json!({"name": loader.name})).collect();
    json!({
        "run_columns": run_columns::TABLE,
        "knobs": knobs::CATALOGUE,
        "load_columns": load_columns::TABLE,
        "sources": sources::TABLE,
        "quantities": quantity::TABLE,
        "kernels": kernels::TABLE,
        "boot_loaders": loaders,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_unique_name_and_a_description() {
        let Value::Object(tables) = tables() else { panic!() };
        for (table, rows) in &tables {
            let rows = rows.as_array().unwrap();
            let mut names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
            assert!(
                names.len() > if matches!(table.as_str(), "boot_loaders" | "kernels") { 1 } else { 10 },
                "{table}"
            );
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), rows.len(), "{table}");
        }
        for row in
            tables["load_columns"].as_array().unwrap().iter().chain(tables["run_columns"].as_array().unwrap())
        {
            assert!(row["meaning"].as_str().unwrap().len() > 5, "{row}");
        }
    }
}
