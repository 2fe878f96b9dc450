//! The beginning of a target that libFuzzer runs, guided by coverage.

use std::fs;
use std::path::Path;

use crate::{digest, runner, seeds, TARGETS};

/// A directory into which the inputs to begin with are written.
const SEEDS: &str = "BECALM_FUZZ_SEEDS";

/// Write the inputs to begin with where that is asked for, make the target's machines, become nobody.
pub fn begin(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target {name}"));
    let seeds = seeds::all(target);
    if let Some(directory) = std::env::var_os(SEEDS) {
        for seed in &seeds {
            let path = Path::new(&directory).join(format!("{:016x}", digest(seed)));
            // Processes that merge a corpus begin as nobody, when all are there.
            if !path.exists() {
                fs::write(&path, seed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
        }
    }
    (target.run)(&seeds[seeds.len() - 1]);
    runner::give_up_rights();
}
