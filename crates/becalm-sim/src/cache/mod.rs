//! Caches in simulation: when a program's working set changes, what a migration costs, and what a detector of sweet spots
//! sees of it.
//!
//! `level` is one set-associative cache, `hierarchy` has private L1 and L2 of CPUs and last-level caches that they share,
//! `memory` places pages, `program` is what tasks do, `micro` and `matrixmult` have them, `lackey` reads valgrind's traces, `play` runs tasks
//! on CPUs and makes `spots::record::Record`s. `answer` answers a line of `becalm-sim cache`.
//!
//! Not modelled: prefetchers, translation caches, memory bandwidth, out-of-order execution, memory that tasks share.

pub mod hierarchy;
pub mod lackey;
pub mod level;
pub mod matrixmult;
pub mod memory;
pub mod micro;
pub mod play;
pub mod program;
pub mod request;

use serde::Serialize;

use crate::spots::{Detection, Question};
use play::Play;
pub use request::{Cache, Simulated};

/// What is answered.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Cache(Box<Simulated>),
    Error(String),
}

/// Answer a line: `{"tasks": [{"program": {"matrixmult": {"n": 128, "repeats": 5}}}], "question": {}}`
pub fn answer(line: &str) -> Answer {
    match serde_json::from_str::<Cache>(line) {
        Err(error) => Answer::Error(format!("This is no request: {error}.")),
        Ok(asked) => simulate(&asked).map_or_else(Answer::Error, |done| Answer::Cache(Box::new(done))),
    }
}

/// Simulate. Errors: a sentence.
pub fn simulate(asked: &Cache) -> Result<Simulated, String> {
    let question = asked.question.clone().map(|mut question: Question| {
        if question.llc.is_empty() {
            question.llc = llcs(asked);
        }
        question
    });
    let detection = question.map(Detection::new).transpose()?;
    let mut play = Play::new(asked, detection)?;
    play.run()?;
    let cpus = (0..asked.machine.cpus).map(|cpu| play.caches().tallies(cpu)).collect();
    Ok(Simulated {
        until_ns: play.now_ns(),
        cut: play.cut,
        accesses: play.accesses,
        cpus,
        tasks: play.played(),
        records: asked.records.then(|| std::mem::take(&mut play.records)),
        found: play.detection.take().map(|each| Box::new(each.finish())),
    })
}

/// The CPUs of each last-level cache.
fn llcs(asked: &Cache) -> Vec<Vec<u32>> {
    let mut found = vec![Vec::new(); asked.machine.llcs];
    for cpu in 0..asked.machine.cpus {
        found[asked.machine.llc_of(cpu)].push(cpu as u32);
    }
    found
}
