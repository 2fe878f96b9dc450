//! Knobs of a feature of the scheduler: one of the words of a file that lists all of them.

use super::super::draft::Draft;
use super::super::place::Place;
use super::super::row::{Act, Form, Knob};
use super::super::tree::Tree;
use super::value::{lacking, read};
use crate::knob::features::{shown, FILES};

/// The kernel's name of the feature.
#[derive(Debug)]
pub struct Feature(pub &'static str);

fn found(tree: &Tree) -> Option<&'static str> {
    FILES.into_iter().find(|path| tree.exists(path))
}

impl Act for Feature {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        let path = found(tree).ok_or_else(|| lacking(tree, knob))?;
        let text = read(tree, path, Form(&[]))?;
        shown(&text, self.0).map(str::to_owned).ok_or_else(|| knob.absent.to_owned())
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        if let Some(path) = found(draft.tree) {
            draft.push(knob.name, Place::Feature { path: path.to_owned(), name: self.0.to_owned() }, value);
        }
        Ok(())
    }
}
