//! The purpose of a session, in a file next to a public one, for root only: it may be a command line that
//! contains passwords.
//!
//! It is written after that file and removed before it, so that a becalm that is killed in between never
//! leaves a title without its file.

use std::io::{self, Write};

use super::tree::Tree;

/// Store the title of a file.
pub fn save(tree: &Tree, path: &str, title: &str) -> io::Result<()> {
    if title.is_empty() {
        remove(tree, path);
        return Ok(());
    }
    let mut file = tree.emptied(&sibling_path(path), 0o600)?;
    file.write_all(title.as_bytes())?;
    file.sync_data()
}

/// Return the title of a file; empty if there is none, or this user may not read it.
pub fn load(tree: &Tree, path: &str) -> String {
    String::from_utf8_lossy(&tree.own_bytes(&sibling_path(path)).unwrap_or_default()).into_owned()
}

/// Remove the title of a file that will be removed next. A title that stays is overwritten by the next.
pub fn remove(tree: &Tree, path: &str) {
    drop(tree.remove_file(&sibling_path(path)));
}

fn sibling_path(path: &str) -> String {
    format!("{path}.title")
}
