//! The program's share of the CPUs, by a control group of its own.

use super::super::changes::Draft;
use super::super::cpuset::hierarchy;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::tree::Tree;
use super::super::weight::Weighted;

const CONTROLLER: &str = "cpu";

/// The weight of the group that the program joins.
#[derive(Debug)]
pub struct CpuWeight;

fn control() -> String {
    format!("{}/cgroup.subtree_control", hierarchy(2))
}

impl Act for CpuWeight {
    fn owns(&self, place: &Place) -> bool {
        match place {
            Place::Weighted(group) => group.is_ours(),
            Place::Controller { path, name } => *path == control() && name == CONTROLLER,
            _ => false,
        }
    }

    fn state(&self, tree: &Tree, _knob: &Knob) -> Result<String, String> {
        let held = Place::Weighted(Weighted::of(tree)?).read(tree);
        Ok(held.ok().filter(|value| value.parse::<u64>().is_ok()).unwrap_or_default())
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        let group = Weighted::of(draft.tree)?;
        if draft.changes.join.is_some() {
            return Err(
                "with isolation the program has CPUs of its own: nobody is there to have a share".to_owned()
            );
        }
        if group.version == 2 {
            let on = draft.tree.read(&control()).unwrap_or_default();
            if !on.split_ascii_whitespace().any(|name| name == CONTROLLER) {
                let place = Place::Controller { path: control(), name: CONTROLLER.to_owned() };
                draft.push(knob.name, place, "on");
            }
        }
        draft.changes.join = Some(group.tasks());
        draft.push(knob.name, Place::Weighted(group), value);
        Ok(())
    }
}
