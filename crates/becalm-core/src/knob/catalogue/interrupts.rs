//! Knobs of the CPUs for interrupts, or for work of the kernel that is bound to none.

use super::super::affected::arrivals;
use super::super::changes::Change;
use super::super::cpus::{self, Cpus};
use super::super::draft::Draft;
use super::super::interrupt;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::tree::Tree;

/// A knob of a mask of CPUs.
#[derive(Debug)]
pub struct Interrupts {
    /// The file of the mask.
    pub mask: &'static str,
    /// Whether the masks of all single interrupts change with it.
    pub each: bool,
}

impl Act for Interrupts {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        let path = self.mask;
        let mask = tree.read(path).map_err(|_| knob.absent.to_owned())?;
        let set = cpus::unmask(&mask).ok_or_else(|| format!("{path} holds {mask:?}, which is not a mask"))?;
        let (present, online) = tree.cpus();
        if online.len() < 2 {
            return Err("only one CPU is online: there is no other to move to".to_owned());
        }
        let set: Cpus = set.intersection(&present).copied().collect();
        Ok(if set == present { "all".to_owned() } else { cpus::list(&set) })
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        let wanted = match value {
            "away" => away(draft)?,
            "all" => draft.online.clone(),
            list => cpus::parse(list).unwrap_or_default(),
        };
        if wanted.intersection(&draft.online).next().is_none() {
            return Err(format!("none of the CPUs {value} is online"));
        }
        let mask = cpus::mask(&wanted);
        draft.push(knob.name, Place::Mask { path: self.mask.to_owned() }, &mask);
        if self.each {
            draft.watch(arrivals(draft.tree));
            for irq in interrupt::numbers(draft.tree) {
                let place = Place::Mask { path: interrupt::mask_file(irq) };
                let (knob, value) = (knob.name.to_owned(), mask.clone());
                draft.changes.writes.push(Change { knob, place, value, required: false });
            }
        }
        Ok(())
    }
}

/// Return all CPUs except those that are reserved for the program (now or since the boot) or, without any,
/// the first core.
fn away(draft: &Draft) -> Result<Cpus, String> {
    let kept = if draft.reserved.is_empty() { draft.tree.first_core() } else { draft.reserved.clone() };
    let away: Cpus = draft.online.difference(&kept).copied().collect();
    match away.is_empty() {
        true => Err(format!("no CPU is online besides {}", cpus::list(&kept))),
        false => Ok(away),
    }
}
