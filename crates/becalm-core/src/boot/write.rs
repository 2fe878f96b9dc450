//! One write of a plan: made, checked, undone. Files are replaced as a whole, so each is as before or as
//! planned, whenever the power fails. Undoing needs only the write itself and may be repeated.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{fchown, MetadataExt, PermissionsExt};
use std::path::Path;

use serde::Serialize;

use super::efi;
use super::grub_env::Block;
use super::plan::Write;
use crate::knob::tree::Tree;

/// The state of a write on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is there as we wrote it.
    Ours,
    /// It is not there: not written yet, removed, or used up by the loader.
    Gone,
    /// Somebody else has changed it.
    Changed,
}

impl Write {
    /// Make the write. It is on the disk when this returns.
    pub fn make(&self, tree: &Tree) -> io::Result<()> {
        let there = self.path();
        match self {
            Write::Directory { .. } => {
                tree.make_directory(there)?;
                sync_parent(tree, there)
            }
            Write::File { text, .. } => {
                if tree.about(there).is_ok() {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                replace(tree, there, text.as_bytes())
            }
            Write::Link { target, .. } => {
                tree.link(target, there)?;
                sync_parent(tree, there)
            }
            Write::Part { text, .. } => {
                let mut bytes = read(tree, there)?.unwrap_or_default();
                bytes.extend_from_slice(text.as_bytes());
                replace(tree, there, &bytes)
            }
            Write::Variable { name, value, .. } => {
                let mut block = Block::read(tree, there).map_err(io::Error::other)?;
                block.set(name, Some(value));
                block.write(tree, there)?;
                match self.state(tree)? {
                    State::Ours => Ok(()),
                    _ => Err(io::Error::other("it was written without effect")),
                }
            }
            Write::Firmware { path, value } => {
                efi::set(tree, path, value)?;
                match self.state(tree)? {
                    State::Ours => Ok(()),
                    _ => Err(io::Error::other("the firmware took it without effect")),
                }
            }
        }
    }

    /// Return the state of this write on the disk.
    pub fn state(&self, tree: &Tree) -> io::Result<State> {
        let there = self.path();
        let of = |same: bool| if same { State::Ours } else { State::Changed };
        Ok(match self {
            Write::Directory { .. } => match tree.is_directory(there) {
                true => State::Ours,
                false => State::Gone,
            },
            Write::File { text, .. } => {
                read(tree, there)?.map_or(State::Gone, |found| of(found == text.as_bytes()))
            }
            Write::Link { target, .. } => match tree.link_target(there) {
                Ok(found) => of(found == Path::new(target)),
                Err(error) if error.kind() == ErrorKind::NotFound => State::Gone,
                Err(error) if error.kind() == ErrorKind::InvalidInput => State::Changed,
                Err(error) => return Err(error),
            },
            Write::Part { text, first, last, .. } => {
                let found = read(tree, there)?.unwrap_or_default();
                match [first, last].iter().any(|mark| position(&found, mark.as_bytes()).is_some()) {
                    true => of(position(&found, text.as_bytes()).is_some()),
                    false => State::Gone,
                }
            }
            Write::Variable { name, value, before, .. } => match tree.exists(there) {
                false => State::Gone,
                true => {
                    let block = Block::read(tree, there).map_err(io::Error::other)?;
                    match block.get(name) {
                        Some(found) if found == value => State::Ours,
                        found if found == before.as_deref() => State::Gone,
                        // GRUB has used it up.
                        None | Some("") => State::Gone,
                        Some(_) => State::Changed,
                    }
                }
            },
            Write::Firmware { path, value } => {
                efi::text(tree, path)?.map_or(State::Gone, |found| of(found == *value))
            }
        })
    }

    /// Undo it, unless somebody else has changed it; with `force`, then too. Return what was found before.
    pub fn undo(&self, tree: &Tree, force: bool) -> io::Result<State> {
        let there = self.path();
        if matches!(self, Write::File { .. } | Write::Part { .. }) {
            // A read-only file system refuses to remove even what is not there.
            let fresh = sibling_path(there);
            if tree.about(&fresh).is_ok() {
                tree.remove_file(&fresh)?;
            }
        }
        let found = self.state(tree)?;
        // A choice that has been used up may leave an empty value.
        if (found == State::Gone && !self.arms()) || (found == State::Changed && !force) {
            return Ok(found);
        }
        match self {
            // A directory in which others have put something meanwhile stays.
            Write::Directory { .. } => match tree.remove_directory(there) {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                done => {
                    done?;
                    sync_parent(tree, there)?;
                }
            },
            Write::File { .. } | Write::Link { .. } => {
                tree.remove_file(there)?;
                sync_parent(tree, there)?;
            }
            Write::Part { text, first, last, created, .. } => {
                let bytes = read(tree, there)?.unwrap_or_default();
                let rest = without(&bytes, text, first, last)?;
                if rest.is_empty() && *created {
                    tree.remove_file(there)?;
                    sync_parent(tree, there)?;
                } else {
                    replace(tree, there, &rest)?;
                }
            }
            Write::Variable { name, before, .. } => {
                if !tree.exists(there) {
                    return Ok(found);
                }
                let mut block = Block::read(tree, there).map_err(io::Error::other)?;
                if block.get(name) != before.as_deref() {
                    block.set(name, before.as_deref());
                    block.write(tree, there)?;
                }
            }
            Write::Firmware { path, .. } => {
                if tree.exists(there) {
                    efi::unset(tree, path)?;
                }
            }
        }
        Ok(found)
    }
}

/// Return the file without our lines: exactly those that were added, or from the first mark to the last.
fn without(bytes: &[u8], text: &str, first: &str, last: &str) -> io::Result<Vec<u8>> {
    let (start, end) = match position(bytes, text.as_bytes()) {
        Some(at) => (at, at + text.len()),
        None => {
            let start = position(bytes, first.as_bytes());
            let end = position(bytes, last.as_bytes()).map(|at| at + last.len());
            match (start, end) {
                (Some(start), Some(end)) if start < end => {
                    (start, end + usize::from(bytes.get(end) == Some(&b'\n')))
                }
                _ => {
                    return Err(io::Error::other(
                        "only one of the two lines that mark becalm's part is there",
                    ))
                }
            }
        }
    };
    Ok([&bytes[..start], &bytes[end..]].concat())
}

fn position(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn read(tree: &Tree, path: &str) -> io::Result<Option<Vec<u8>>> {
    match tree.bytes(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Return the path at which a file is written before it is renamed. No loader and no systemd reads a name
/// with this ending.
fn sibling_path(path: &str) -> String {
    format!("{path}.becalm-new")
}

/// Replace the bytes of a file at once; its owner and mode stay.
fn replace(tree: &Tree, path: &str, bytes: &[u8]) -> io::Result<()> {
    let fresh = sibling_path(path);
    let written = (|| {
        // Anything with that name is removed first: it may be a link.
        drop(tree.remove_file(&fresh));
        let mut file = tree.created(&fresh)?;
        let about = file.metadata()?;
        let (mode, owner) = match tree.open(path, libc::O_PATH, 0).and_then(|old| old.metadata()) {
            Ok(old) => (old.mode() & 0o7777, Some((old.uid(), old.gid()))),
            Err(_) => (0o644, None),
        };
        // FAT has one owner and one mode for all of its files, and refuses others.
        if let Some((user, group)) = owner.filter(|owner| *owner != (about.uid(), about.gid())) {
            fchown(&file, Some(user), Some(group))?;
        }
        if owner.is_some() && about.mode() & 0o7777 != mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        tree.rename(&fresh, path)
    })();
    if written.is_err() {
        drop(tree.remove_file(&fresh));
        return written;
    }
    sync_parent(tree, path)
}

fn sync_parent(tree: &Tree, path: &str) -> io::Result<()> {
    match path.rsplit_once('/') {
        Some((parent, _)) if !parent.is_empty() => tree.sync(parent),
        _ => tree.sync("/"),
    }
}
