//! The initialisation of a target that libFuzzer runs, guided by coverage.

use std::fs;
use std::path::Path;

use crate::{digest, runner, seeds, TARGETS};

/// The variable that names a directory into which the seed inputs are written.
const SEEDS: &str = "BECALM_FUZZ_SEEDS";

/// Write the seed inputs if the variable is set, create the target's machines, and give up root's privileges.
pub fn begin(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target {name}"));
    let seeds = seeds::all(target);
    if let Some(directory) = std::env::var_os(SEEDS) {
        for seed in &seeds {
            let path = Path::new(&directory).join(format!("{:016x}", digest(seed)));
            // Processes that merge a corpus start without privileges, when all files exist.
            if !path.exists() {
                fs::write(&path, seed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
        }
    }
    (target.run)(&seeds[seeds.len() - 1]);
    runner::give_up_rights();
}
