//! The knob of simultaneous multithreading, on or off.

use super::super::cpus::{self, Cpus};
use super::super::draft::Draft;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::tree::{Tree, CPU};

/// The knob of `smt/control`.
#[derive(Debug)]
pub struct Smt;

impl Act for Smt {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        control(tree).ok_or_else(|| knob.absent.to_owned())
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        // Switching it on brings every sibling online, also those that somebody had taken offline.
        let switches = draft.tree.switchable_cpus();
        draft.watch(switches.iter().map(|cpu| Place::File { path: format!("{CPU}/cpu{cpu}/online") }));
        if value == "off" {
            // The first thread of every core stays.
            let first = |cpu: &u32| {
                let text = draft.tree.read(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list")).ok()?;
                cpus::parse(&text)?.first().copied()
            };
            let stays = |cpu: &u32| first(cpu).is_none_or(|first| first == *cpu);
            let kept: Cpus = draft.online.iter().copied().filter(stays).collect();
            let gone = draft.online.difference(&kept).copied().collect();
            draft.take(knob.name, &gone);
            draft.online = kept;
        }
        draft.file(knob.name, &format!("{CPU}/smt/control"), value.to_owned());
        Ok(())
    }
}

/// Return whether SMT is on or off; None if it cannot be set.
pub fn control(tree: &Tree) -> Option<String> {
    let control = tree.read(&format!("{CPU}/smt/control")).ok()?;
    matches!(control.as_str(), "on" | "off").then_some(control)
}
