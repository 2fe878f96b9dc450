//! A cache simulator: changes of a program's working set, the cost of a migration, and what the detector of
//! sweet spots sees of both.
//!
//! - `level` is one set-associative cache; `hierarchy` combines private L1 and L2 caches of CPUs with shared
//!   last-level caches.
//! - `memory` places pages.
//! - `program` is the interface of a task's program; `micro` and `matrixmult` implement it, and `lackey`
//!   reads valgrind's traces.
//! - `play` runs tasks on CPUs and produces `spots::record::Record`s.
//!
//! `answer` answers one line of `becalm-sim cache`.
//!
//! Not modelled: prefetchers, TLBs, memory bandwidth, out-of-order execution, and memory shared by tasks.

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

/// An answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Cache(Box<Simulated>),
    Error(String),
}

/// Answer a line such as `{"tasks": [{"program": {"matrixmult": {"n": 128, "repeats": 5}}}], "question":
/// {}}`.
pub fn answer(line: &str) -> Answer {
    match serde_json::from_str::<Cache>(line) {
        Err(error) => Answer::Error(format!("This is not a request: {error}.")),
        Ok(asked) => simulate(&asked).map_or_else(Answer::Error, |done| Answer::Cache(Box::new(done))),
    }
}

/// Run a simulation.
///
/// # Errors
/// Returns a sentence about an invalid request, an unreadable trace or a lack of pages.
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

/// Return the CPUs of each last-level cache.
fn llcs(asked: &Cache) -> Vec<Vec<u32>> {
    let mut found = vec![Vec::new(); asked.machine.llcs];
    for cpu in 0..asked.machine.cpus {
        found[asked.machine.llc_of(cpu)].push(cpu as u32);
    }
    found
}
