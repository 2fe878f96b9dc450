//! A directory that looks like a machine's `/` and stands for the running machine.
//!
//! It may be somebody else's, so nothing in it may lead out of it: every file is opened by `beneath`, and
//! files are created, renamed and removed relative to a directory that was opened so.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{acted, beneath};
use crate::choice::chosen;
use crate::place::Place;
use crate::tree::{Files, Tree};

/// The effect of a write on a directory that looks like the kernel's files.
pub type Play = fn(&Tree, &str, &str) -> io::Result<()>;

#[derive(Debug)]
struct Directory {
    root: PathBuf,
    play: Play,
}

impl Files for Directory {
    fn open(&self, path: &str, flags: i32, mode: u32) -> io::Result<File> {
        beneath::open(&self.root, path, flags, mode)
    }

    fn named(&self, path: &str) -> io::Result<(Option<OwnedFd>, PathBuf)> {
        let (parent, name) = beneath::parent(&self.root, path)?;
        let path = Path::new(&format!("/proc/self/fd/{}", parent.as_raw_fd()))
            .join(OsStr::from_bytes(name.to_bytes()));
        Ok((Some(parent), path))
    }

    fn write(&self, tree: &Tree, path: &str, value: &str) -> io::Result<()> {
        (self.play)(tree, path, value)
    }

    fn act(&self, tree: &Tree, place: &Place, value: &str) -> Option<io::Result<()>> {
        acted::act(tree, place, value)
    }
}

impl Tree {
    /// Use the machine whose `/` is `root`, a path without links.
    pub fn new(root: &Path) -> Self {
        Self::played_by(root, Self::show)
    }

    /// Use the running machine as these files show it.
    pub fn seen_by(files: Arc<dyn Files>) -> Self {
        Self { files: Some(files), ..Self::running() }
    }

    /// Use the machine below `root`; `play` adds the kernel's further reactions to a write.
    pub fn played_by(root: &Path, play: Play) -> Self {
        if root == Path::new("/") {
            return Self::running();
        }
        let files = Directory { root: root.to_owned(), play };
        Self { root: root.to_owned(), live: false, files: Some(Arc::new(files)) }
    }

    /// Write to a directory's file what the kernel's file would show after a value was written to it.
    pub fn show(&self, path: &str, value: &str) -> io::Result<()> {
        self.replace(path, spelled(&self.read(path)?, value)?.as_bytes())
    }

    /// Make a link.
    pub fn link(&self, target: &str, path: &str) -> io::Result<()> {
        let (_parent, path) = self.named(path)?;
        symlink(target, path)
    }

    /// Return the target of a link; an error (EINVAL) if it is not one.
    pub fn link_target(&self, path: &str) -> io::Result<PathBuf> {
        let (_parent, path) = self.named(path)?;
        fs::read_link(path)
    }

    /// Return a path without links.
    pub fn real(&self, path: &str) -> io::Result<String> {
        let file = self.open(path, libc::O_PATH, 0)?;
        let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let inside = real.strip_prefix(&self.root).map_err(|_| io::Error::from_raw_os_error(libc::EXDEV))?;
        Ok(format!("/{}", inside.display()))
    }
}

/// Return all words of such a text.
pub fn choices(text: &str) -> impl Iterator<Item = &str> {
    text.split_ascii_whitespace().map(|word| word.trim_matches(['[', ']', '(', ')']))
}

/// Spell a value as its file shows it: brackets mark the word that is chosen.
pub fn spelled(text: &str, value: &str) -> io::Result<String> {
    if chosen(text) == text {
        return Ok(format!("{value}\n"));
    }
    let words: Vec<&str> = choices(text).collect();
    if !words.contains(&value) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let (open, close) = if text.contains('[') { ('[', ']') } else { ('(', ')') };
    let spelled =
        |word: &&str| if *word == value { format!("{open}{word}{close}") } else { (*word).to_owned() };
    Ok(words.iter().map(spelled).collect::<Vec<_>>().join(" ") + "\n")
}
