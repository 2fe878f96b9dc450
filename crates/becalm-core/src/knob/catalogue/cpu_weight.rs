//! The program's share of the CPUs, by a separate control group.

use super::super::controller;
use super::super::draft::Draft;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::tree::Tree;
use super::super::weight::{Weighted, V1};

/// The controller.
const CONTROLLER: &str = "cpu";

/// The weight of the group that the program joins.
#[derive(Debug)]
pub struct CpuWeight;

impl Act for CpuWeight {
    fn state(&self, tree: &Tree, _knob: &Knob) -> Result<String, String> {
        let held = group(tree)?.read(tree);
        Ok(held.ok().filter(|value| value.parse::<u64>().is_ok()).unwrap_or_default())
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        let group = group(draft.tree)?;
        if draft.changes.join().is_some() {
            return Err("with isolation the program has its own CPUs, and shares them with nobody".to_owned());
        }
        if group.version == 2 {
            draft.controller(knob.name, CONTROLLER);
        }
        draft.push(knob.name, Place::Weighted(group), value);
        Ok(())
    }
}

/// Return the group of this machine, in the version of control groups that has the controller; an error is
/// the reason why none has.
fn group(tree: &Tree) -> Result<Weighted, String> {
    Ok(Weighted { version: controller::version(tree, CONTROLLER, &format!("{V1}/cpu.shares"))? })
}
