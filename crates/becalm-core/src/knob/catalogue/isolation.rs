//! The knob of CPUs reserved for the program, by cpusets.

use super::super::cpus::{self, Cpus};
use super::super::cpuset::{self, Cpuset};
use super::super::cpuset_facts;
use super::super::draft::Draft;
use super::super::interrupt_words::staying;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::tree::Tree;

/// The factor by which interrupts that cannot be moved must have fired more often at the last core for the
/// program to get the first one: less would not outweigh the other work of the first core, such as keeping
/// the time.
const TIMES: u64 = 10;

/// The smallest number of interrupts since the boot that is meaningful.
const SOME: u64 = 1_000;

/// The knob of a cpuset for the program and, on cgroup v1, one for all others.
#[derive(Debug)]
pub struct Isolation;

impl Act for Isolation {
    fn state(&self, tree: &Tree, _knob: &Knob) -> Result<String, String> {
        cpuset::version(tree)?;
        let (_, online) = tree.cpus();
        if tree.first_core() == online {
            return Err("this machine has one core: other programs cannot be kept on another one".to_owned());
        }
        Ok("none".to_owned())
    }

    fn reserves(&self, tree: &Tree, value: &str) -> Option<Cpus> {
        let (_, online) = tree.cpus();
        Some(tree.core(value).intersection(&online).copied().collect())
    }

    fn tuned(&self, tree: &Tree, knob: &Knob) -> Option<&'static str> {
        let [first, last] = ["first-core", "last-core"].map(|core| staying(tree, &tree.core(core)));
        if last >= SOME && last >= first.saturating_mul(TIMES) {
            return Some("first-core");
        }
        knob.tuned_value
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        let version = cpuset::version(draft.tree)?;
        let root = cpuset::hierarchy(version);
        let (_, online) = draft.tree.cpus();
        let listed = cpus::parse(value).unwrap_or_default();
        let absent: Cpus = listed.difference(&online).copied().collect();
        if !absent.is_empty() {
            return Err(format!(
                "of the CPUs {value}, {} are not online; there are {}",
                cpus::list(&absent),
                cpus::list(&online)
            ));
        }
        if !draft.reserved.is_empty() && draft.reserved.is_disjoint(&draft.online) {
            return Err(format!("the CPUs {} go offline by the other settings", cpus::list(&draft.reserved)));
        }
        let rest: Cpus = draft.online.difference(&draft.reserved).copied().collect();
        if draft.reserved.is_empty() || rest.is_empty() {
            return Err(format!(
                "of the CPUs {} none would be left for the others",
                cpus::list(&draft.online)
            ));
        }
        let claimed =
            cpuset_facts::keeping(draft.tree, version, &draft.reserved).into_iter().find(|(_, own)| *own);
        if let Some((group, _)) = claimed {
            return Err(format!(
                "the control group {group} has the CPUs {} for itself. Isolate others, or end that group's claim first",
                cpus::list(&draft.reserved)
            ));
        }
        let file = if version == 2 { "cpuset.mems.effective" } else { "cpuset.mems" };
        let mems = draft.tree.read(&format!("{root}/{file}")).ok().filter(|text| !text.is_empty());
        let set = |cpus: &Cpus, gather| Cpuset {
            version,
            cpus: cpus::list(cpus),
            mems: mems.clone().unwrap_or("0".to_owned()),
            gather,
        };
        let own = set(&draft.reserved, false);
        // On v1 every task is moved, and loses its own CPUs.
        draft.changes.taken.extend(if version == 1 { &draft.online } else { &draft.reserved });
        if version == 2 {
            draft.controller(knob.name, cpuset::NAME);
            draft.push(knob.name, Place::Cpuset(own.clone()), cpuset::PRESENT);
        } else {
            // A child may not have CPUs that its parent lacks, so the deepest comes first.
            for (path, held) in cpuset::others(draft.tree).into_iter().rev() {
                let held: Cpus = held.intersection(&draft.online).copied().collect();
                let left: Cpus = held.difference(&draft.reserved).copied().collect();
                if left != held && !left.is_empty() {
                    draft.file(knob.name, &path, cpus::list(&left));
                }
            }
            draft.push(knob.name, Place::Cpuset(set(&rest, true)), cpuset::PRESENT);
            draft.push(knob.name, Place::Cpuset(own.clone()), cpuset::PRESENT);
            // Each set becomes a separate scheduling domain.
            draft.file(knob.name, &format!("{root}/cpuset.sched_load_balance"), "0".to_owned());
        }
        Ok(())
    }
}
