//! The plan on the disk, from before its first write until all of it is removed: `/var/lib/becalm/boot`.
//!
//! The journal of settings belongs to one boot; this file outlives restarts, as what it lists does. One line, a checksum
//! and JSON as in the journal. It is replaced as a whole, so that it is either there or not.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::BootError;
use crate::knob::checksum;
use crate::knob::journal::{directory, emptied, Begin};
use crate::knob::tree::Tree;

const PATH: &str = "/var/lib/becalm/boot";
const FRESH: &str = "/var/lib/becalm/boot.new";
const DIRECTORY: &str = "/var/lib/becalm";

/// Who had what written, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub begin: Begin,
    pub plan: Plan,
}

/// Have it on the disk when this returns.
pub fn save(tree: &Tree, recorded: &Recorded) -> Result<(), BootError> {
    let path = tree.path(PATH).display().to_string();
    written(tree, recorded).map_err(|error| {
        drop(fs::remove_file(tree.path(FRESH)));
        BootError::Record { path, error }
    })
}

fn written(tree: &Tree, recorded: &Recorded) -> io::Result<()> {
    directory(&tree.path(DIRECTORY))?;
    let fresh = tree.path(FRESH);
    let mut file = emptied(&fresh)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.write_all(checksum::line(recorded)?.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, tree.path(PATH))?;
    File::open(tree.path(DIRECTORY))?.sync_all()
}

/// Whether there is anything to remove: also what an agent that was killed before its first write has left.
pub fn exists(tree: &Tree) -> bool {
    tree.exists(PATH) || tree.exists(FRESH)
}

/// What is recorded; None when nothing is.
pub fn load(tree: &Tree) -> Result<Option<Recorded>, BootError> {
    let bytes = match fs::read(tree.path(PATH)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let understood = bytes.strip_suffix(b"\n").and_then(checksum::value);
    let damaged = || BootError::Damaged { path: tree.path(PATH).display().to_string() };
    understood.map(Some).ok_or_else(damaged)
}

/// Nothing of ours is there any more.
pub fn remove(tree: &Tree) -> io::Result<()> {
    for path in [FRESH, PATH] {
        match fs::remove_file(tree.path(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match File::open(tree.path(DIRECTORY)) {
        Ok(directory) => directory.sync_all(),
        Err(_) => Ok(()),
    }
}
