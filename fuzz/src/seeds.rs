//! Inputs to begin with: those that have once failed, those that a guided search kept, those of the target.

use std::fs;
use std::path::PathBuf;

use crate::machine::project;
use crate::Target;

/// Return all of a target; those that have once failed come first.
pub fn all(target: &Target) -> Vec<Vec<u8>> {
    let failed = project().join("fuzz/regressions").join(target.name);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(failed).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    let failed = paths.iter().filter_map(|path| fs::read(path).ok());
    failed.chain(kept(target)).chain((target.seeds)()).collect()
}

/// Inputs that reach more code than the target's own, a JSON string in each line, in which a byte is a character.
fn kept(target: &Target) -> Vec<Vec<u8>> {
    let path = project().join("fuzz/seeds").join(target.name).with_extension("jsonl");
    let input = |line: &str| -> Vec<u8> {
        let text: String =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.chars().map(|character| character as u8).collect()
    };
    fs::read_to_string(&path).unwrap_or_default().lines().map(input).collect()
}
