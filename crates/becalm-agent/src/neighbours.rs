//! Neighbours of a program: other programs that are kept running, pinned and restarted, from before its start
//! to after its end.
//!
//! `defined` prepares them with their workload (`ready`), `measure` keeps them running around each run
//! (`Neighbours`), and a block's answer has their totals (`Tally`). A separate process keeps them running
//! (`starter`), so that restarting them takes no time of the measuring process. They start as programs do: by a
//! `Spawner`, with the same user, environment and directory. Nothing of them is counted in the program's run.

pub mod starter;

use starter::Tally;

use std::collections::BTreeMap;
use std::io;

use becalm_core::exec::program::BaseEnvironment;
use becalm_core::exec::tree;
use becalm_core::knob::settings::Settings;
use becalm_core::knob::tree::Tree;
use becalm_core::types::{Neighbour, Output, Workload};
use serde_json::{json, Map, Value};

use crate::companion::{Companion, Kind};
use crate::conversation::Conversation;
use crate::protocol::Failure;
use crate::ready::{Ready, ReadyNeighbour};

/// The largest number of neighbours, so that a mistyped number does not exhaust the machine.
pub const MOST: usize = 256;

const STARTER: Kind = Kind {
    called: "The process that keeps the neighbours running",
    name: c"becalm-starter",
    spare: tree::spare_starter,
};

/// The number of runs and the totals of the neighbours of each workload, by its number and in their order.
#[derive(Default)]
pub struct Tallies(BTreeMap<u32, (u64, Vec<Tally>)>);

impl Tallies {
    /// Add one run of a workload.
    pub fn add(&mut self, workload: u32, did: &[Tally]) {
        let (runs, all) = self.0.entry(workload).or_default();
        *runs += 1;
        all.resize(did.len(), Tally::default());
        for (sum, each) in all.iter_mut().zip(did) {
            sum.add(each);
        }
    }

    /// Remove and return the totals in the form of a block's answer.
    pub fn take(&mut self) -> Value {
        let all = std::mem::take(&mut self.0);
        let row = |(workload, (runs, did))| json!({"workload": workload, "runs": runs, "did": did});
        all.into_iter().map(row).collect()
    }
}

/// The running neighbours.
pub struct Neighbours(Companion);

impl Neighbours {
    /// Start the neighbours, and wait until each is at work.
    ///
    /// # Errors
    /// The inner error is a sentence about one of them.
    pub fn start(
        wanted: &[ReadyNeighbour],
        base: &BaseEnvironment,
        talk: &mut Conversation,
    ) -> io::Result<Result<Self, Failure>> {
        let started = Companion::start(&STARTER, talk, |report| starter::run(report, wanted, base))?;
        Ok(started.map(Self).map_err(|failure| Failure::new("neighbour", failure.message)))
    }

    /// End the neighbours with everything they have started, and return their totals.
    pub fn end(self, talk: &mut Conversation) -> io::Result<Result<Vec<Tally>, Failure>> {
        Ok(self.0.end(talk)?.and_then(|done| {
            serde_json::from_value(done["neighbours"].clone()).map_err(|error| {
                Failure::new("system", format!("What the neighbours did is not known: {error}."))
            })
        }))
    }
}

/// Prepare the neighbours of a workload, without running anything.
pub fn ready(
    workload: &Workload,
    tree: &Tree,
    base: &BaseEnvironment,
) -> Result<Vec<ReadyNeighbour>, Failure> {
    if workload.alongside.len() > MOST {
        let message = format!(
            "A program has at most {MOST} neighbours, and {} were requested. Leave some of them out.",
            workload.alongside.len()
        );
        return Err(Failure::new("usage", message));
    }
    workload.alongside.iter().map(|each| one(each, tree, base)).collect()
}

fn one(wanted: &Neighbour, tree: &Tree, base: &BaseEnvironment) -> Result<ReadyNeighbour, Failure> {
    let Neighbour { workload, cpus } = wanted;
    let hooks = [&workload.setup, &workload.prepare, &workload.cleanup];
    if hooks.iter().any(|hook| hook.is_some())
        || workload.cold
        || workload.output != Output::Discard
        || !(workload.metrics.is_empty() && workload.alongside.is_empty())
    {
        let message =
            "A neighbour is a program that is kept running: it has no commands around it, no metrics, no \
                       output and no neighbours of its own.";
        return Err(Failure::new("usage", message));
    }
    let mut given = Map::new();
    if let Some(cpus) = cpus {
        given.insert("cpus".to_owned(), Value::String(cpus.clone()));
    }
    let settings = Settings::read(&given, tree, false)?;
    Ok(ReadyNeighbour { ready: Ready::new(workload.clone(), base)?, settings })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn workload(json: Value) -> Workload {
        serde_json::from_value(json).unwrap()
    }

    fn made(neighbour: Value) -> Result<Vec<ReadyNeighbour>, Failure> {
        let base = BaseEnvironment::new(BTreeMap::new(), "/".into(), None).unwrap();
        let workload = workload(json!({"argv": ["true"], "alongside": [neighbour]}));
        ready(&workload, &Tree::new(Path::new("/")), &base)
    }

    #[test]
    fn a_neighbour_is_resolved_as_a_program_is() {
        let found = made(json!({"workload": {"argv": ["sh", "-c", ":"]}, "cpus": "0"})).ok().unwrap();
        assert!(found[0].ready.path().ends_with("/sh"));
        assert_eq!(found[0].settings.process.child.calls().len(), 1);
        let missing = made(json!({"workload": {"argv": ["no-such-program"]}})).err().unwrap();
        assert!(missing.message.contains("no-such-program"), "{}", missing.message);
    }

    #[test]
    fn unsupported_options_of_a_neighbour_are_rejected() {
        for more in [
            json!({"setup": ["true"]}),
            json!({"prepare": ["true"]}),
            json!({"cleanup": ["true"]}),
            json!({"output": "keep"}),
            json!({"cold": true}),
            json!({"alongside": [{"workload": {"argv": ["true"]}}]}),
        ] {
            let mut workload = json!({"argv": ["true"]});
            workload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let failure = made(json!({"workload": workload})).err().unwrap();
            assert!(failure.message.starts_with("A neighbour is"), "{more}");
        }
        for cpus in ["", "x", "-1", "0-", "99999999"] {
            assert!(made(json!({"workload": {"argv": ["true"]}, "cpus": cpus})).is_err(), "{cpus:?}");
        }
        let base = BaseEnvironment::new(BTreeMap::new(), "/".into(), None).unwrap();
        let many = vec![json!({"workload": {"argv": ["true"]}}); MOST + 1];
        let many = workload(json!({"argv": ["true"], "alongside": many}));
        assert!(ready(&many, &Tree::new(Path::new("/")), &base).is_err());
    }

    #[test]
    fn tallies_of_a_block_add_up_by_workload() {
        let mut all = Tallies::default();
        let did = |restarts, status| Tally { restarts, status, ..Tally::default() };
        all.add(3, &[did(1, None), did(2, Some(1))]);
        all.add(3, &[did(4, None), did(0, None)]);
        let rows = all.take();
        assert_eq!(
            (&rows[0]["workload"], &rows[0]["runs"], &rows[0]["did"][0]["restarts"]),
            (&json!(3), &json!(2), &json!(5))
        );
        assert_eq!(rows[0]["did"][1]["status"], 1);
        assert_eq!(all.take(), json!([]));
    }
}
