//! The plan on the disk, from before its first write until all of it is removed: `/var/lib/becalm/boot`.
//!
//! The journal of settings belongs to one boot; this file outlives restarts, like the writes that it lists.
//! It is one line, with a checksum and JSON as in the journal, and is replaced as a whole, so that it exists
//! completely or not at all.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::BootError;
use crate::knob::checksum;
use crate::knob::journal::{Begin, DIRECTORY};
use crate::knob::title;
use crate::knob::tree::Tree;

const PATH: &str = "/var/lib/becalm/boot";
const FRESH: &str = "/var/lib/becalm/boot.new";

/// The record of a plan that was written: the user, the time, and the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub begin: Begin,
    pub plan: Plan,
}

/// Store the record; it is on the disk when this returns.
pub fn save(tree: &Tree, recorded: &Recorded) -> Result<(), BootError> {
    let path = tree.path(PATH).display().to_string();
    written(tree, recorded).map_err(|error| {
        drop(tree.remove_file(FRESH));
        BootError::Record { path, error }
    })
}

fn written(tree: &Tree, recorded: &Recorded) -> io::Result<()> {
    tree.ensure_directory(DIRECTORY)?;
    let mut file = tree.emptied(FRESH, 0o644)?;
    let public = Recorded { begin: recorded.begin.public(), plan: recorded.plan.clone() };
    file.write_all(checksum::line(&public)?.as_bytes())?;
    file.sync_all()?;
    tree.rename(FRESH, PATH)?;
    title::save(tree, PATH, &recorded.begin.title)?;
    tree.sync(DIRECTORY)
}

/// Return whether there is anything to remove, including what an agent that was killed before its first write
/// has left.
pub fn exists(tree: &Tree) -> bool {
    tree.exists(PATH) || tree.exists(FRESH)
}

/// Return the record, or None when there is none.
pub fn load(tree: &Tree) -> Result<Option<Recorded>, BootError> {
    let bytes = match tree.own_bytes(PATH) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let understood = bytes.strip_suffix(b"\n").and_then(checksum::value);
    let damaged = || BootError::Damaged { path: tree.path(PATH).display().to_string() };
    let mut recorded: Recorded = understood.ok_or_else(damaged)?;
    if recorded.begin.title.is_empty() {
        recorded.begin.title = title::load(tree, PATH);
    }
    Ok(Some(recorded))
}

/// Remove the record, when nothing of ours is left.
pub fn remove(tree: &Tree) -> io::Result<()> {
    title::remove(tree, PATH);
    for path in [FRESH, PATH] {
        match tree.remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match tree.is_directory(DIRECTORY) {
        true => tree.sync(DIRECTORY),
        false => Ok(()),
    }
}
