//! Knobs of one file that holds the value.

use super::super::choice::chosen;
use super::super::directory::choices;
use super::super::draft::Draft;
use super::super::row::{Act, Form, Knob};
use super::super::tree::Tree;
use super::value::{lacking, read, DEBUGFS};

/// A knob of the first of these files that exists, with its spelling of values.
#[derive(Debug)]
pub struct File(pub &'static [(&'static str, Form)]);

impl File {
    fn found(&self, tree: &Tree) -> Option<(&'static str, Form)> {
        self.0.iter().copied().find(|(path, _)| tree.exists(path))
    }

    fn lacking(&self, tree: &Tree, knob: &Knob) -> String {
        match self.0.iter().any(|(path, _)| path.starts_with(DEBUGFS)) {
            true => lacking(tree, knob),
            false => knob.absent.to_owned(),
        }
    }
}

impl Act for File {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        let (path, form) = self.found(tree).ok_or_else(|| self.lacking(tree, knob))?;
        read(tree, path, form)
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        if let Some((path, form)) = self.found(draft.tree) {
            choice(draft.tree, path, &form.spelled(value))?;
            draft.file(knob.name, path, form.spelled(value));
        }
        Ok(())
    }
}

/// Check a value by the file: files that list their choices in brackets accept no others.
fn choice(tree: &Tree, path: &str, value: &str) -> Result<(), String> {
    let text = tree.read(path).unwrap_or_default();
    let words: Vec<&str> = choices(&text).collect();
    if chosen(&text) == text || words.contains(&value) {
        return Ok(());
    }
    Err(format!("{path} knows only {}", words.join(", ")))
}
