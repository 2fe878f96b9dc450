//! The knob of services that rewrite settings, stopped or not.

use super::super::draft::Draft;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::task::{start_and_state, RUNNING, STOPPED};
use super::super::tree::Tree;
use crate::facts::read::Machine;
use crate::facts::services;

/// The knob of their processes, by SIGSTOP and SIGCONT.
#[derive(Debug)]
pub struct Services;

impl Act for Services {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        let stopped = |place: &Place| place.read(tree).is_ok_and(|state| state == STOPPED);
        match rivals(tree) {
            rivals if rivals.is_empty() => Err(knob.absent.to_owned()),
            rivals if rivals.iter().all(stopped) => Ok("pause".to_owned()),
            _ => Ok("run".to_owned()),
        }
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        let wanted = if value == "pause" { STOPPED } else { RUNNING };
        for place in rivals(draft.tree) {
            draft.push(knob.name, place, wanted);
        }
        Ok(())
    }
}

fn rivals(tree: &Tree) -> Vec<Place> {
    let found = services::rivals(&Machine::new(&tree.path("/")));
    let place = |(name, pid): (String, i32)| {
        let (start, _) = start_and_state(tree, pid)?;
        Some(Place::Process { pid, start, name })
    };
    found.into_iter().filter_map(place).collect()
}
