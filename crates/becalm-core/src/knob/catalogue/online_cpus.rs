//! The knob of the CPUs that are online.

use super::super::changes::Change;
use super::super::cpus::{self, Cpus};
use super::super::draft::Draft;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::tree::{Tree, CPU};
use super::smt;

/// The knob of `cpuN/online` of every CPU that can be switched.
#[derive(Debug)]
pub struct OnlineCpus;

impl Act for OnlineCpus {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        let (present, online) = tree.cpus();
        match tree.switchable_cpus().is_empty() {
            true => Err(knob.absent.to_owned()),
            false if present == online => Ok("all".to_owned()),
            false => Ok(cpus::list(&online)),
        }
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        let (present, before) = draft.tree.cpus();
        let kept = match value {
            "all" => present.clone(),
            "first" => present.first().copied().into_iter().collect(),
            list => cpus::parse(list).unwrap_or_default(),
        };
        if kept.intersection(&present).next().is_none() {
            return Err(format!(
                "none of the CPUs {value} is present: this machine has {}",
                cpus::list(&present)
            ));
        }
        let switchable = draft.tree.switchable_cpus();
        let gone: Cpus = switchable.difference(&kept).copied().collect();
        draft.take(knob.name, &gone);
        let no_siblings = before != draft.online || smt::control(draft.tree).is_some_and(|smt| smt == "off");
        for cpu in switchable {
            let wanted = if kept.contains(&cpu) { "1" } else { "0" };
            // With SMT off a sibling cannot come online: one that goes offline with SMT is not switched on,
            // and of the others it is not known which are siblings.
            if wanted == "1" && before.contains(&cpu) && !draft.online.contains(&cpu) {
                continue;
            }
            draft.changes.writes.push(Change {
                knob: knob.name.to_owned(),
                place: Place::File { path: format!("{CPU}/cpu{cpu}/online") },
                value: wanted.to_owned(),
                required: wanted == "0" || before.contains(&cpu) || !no_siblings,
            });
            if wanted == "1" && !no_siblings {
                draft.online.insert(cpu);
            }
        }
        draft.online = draft.online.difference(&gone).copied().collect();
        Ok(())
    }
}
