//! The seed inputs of a target: those that failed once, those that a guided search kept, and the target's
//! own.

use std::fs;
use std::path::PathBuf;

use crate::machine::project;
use crate::Target;

/// Return all seed inputs of a target, beginning with those that failed once.
pub fn all(target: &Target) -> Vec<Vec<u8>> {
    let failed = project().join("fuzz/regressions").join(target.name);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(failed).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    let failed = paths.iter().filter_map(|path| fs::read(path).ok());
    failed.chain(kept(target)).chain((target.seeds)()).collect()
}

/// Return inputs that reach more code than the target's own, read as one JSON string per line in which each
/// character is a byte.
fn kept(target: &Target) -> Vec<Vec<u8>> {
    let path = project().join("fuzz/seeds").join(target.name).with_extension("jsonl");
    let input = |line: &str| -> Vec<u8> {
        let text: String =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.chars().map(|character| character as u8).collect()
    };
    fs::read_to_string(&path).unwrap_or_default().lines().map(input).collect()
}
