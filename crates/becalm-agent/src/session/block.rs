//! The requests that run programs: the steps of a block in order, and the overhead of becalm itself.

use std::io;

use becalm_core::exec::tree::sweep;
use becalm_core::time::Clock;
use becalm_core::types::{Outcome, Start, Step};
use serde_json::json;

use super::{opened, starts, Answer, Session};
use crate::conversation::Attention;
use crate::measure::system;
use crate::overhead::overhead;
use crate::protocol::{self, Failure, WaitMeans, Wanted};
use crate::recording::Recording;

impl Session {
    pub(super) fn measure(
        &mut self,
        id: u64,
        (first, steps, starts): (u64, &[Step], &[Start]),
        stop_on_failure: bool,
        (load, recording, waits_by): (Wanted, Option<protocol::Recording>, Option<WaitMeans>),
    ) -> io::Result<Answer> {
        if let Err(failure) = opened(self.base.as_ref()) {
            return Ok(Err(failure));
        }
        if let Err(failure) = self.defined.check(steps).and_then(|()| numbered(first, steps.len())) {
            return Ok(Err(failure));
        }
        if let Err(failure) = starts::check(starts, steps, &self.defined, &self.machine) {
            return Ok(Err(failure));
        }
        if recording.is_some() && starts.iter().any(|start| start.1) {
            let message = "Context switches are not recorded of programs that run at the same time.";
            return Ok(Err(Failure::new("unsupported", message)));
        }
        if waits_by.is_some() && load != Wanted::None {
            if let Err(failure) = self.observer.count_waits() {
                return Ok(Err(failure));
            }
        }
        if let Some(wish) = recording {
            let root = self.machine.tree.path("/");
            match Recording::open(id, &wish, &root) {
                Ok(recording) => {
                    recording.send_setup(&mut self.talk)?;
                    self.runner.recording = Some(recording);
                }
                Err(failure) => return Ok(Err(failure)),
            }
        }
        let answer = self.steps(id, (first, steps, starts), stop_on_failure, load);
        match (self.runner.recording.take(), answer?) {
            (Some(mut recording), Ok(mut results)) => {
                results["recorded"] = recording.end(&mut self.talk)?;
                Ok(Ok(results))
            }
            (_, answer) => Ok(answer),
        }
    }

    /// Report what was measured before a failure that ends a block, and return the failure.
    fn broken_off(&mut self, failure: Failure) -> io::Result<Answer> {
        self.observer.end(&mut self.talk.output);
        self.talk.output.flush()?;
        Ok(Err(failure))
    }

    fn steps(
        &mut self,
        id: u64,
        (first, steps, starts): (u64, &[Step], &[Start]),
        stop_on_failure: bool,
        load: Wanted,
    ) -> io::Result<Answer> {
        let base = match opened(self.base.as_ref()) {
            Ok(base) => base,
            Err(failure) => return Ok(Err(failure)),
        };
        self.talk.output.begin(id);
        self.observer.begin(load);
        self.observer.make_group();
        // A stop may have arrived in the same read as this request, which polling would not report again.
        let steps = if self.talk.attend()? == Attention::Nothing { steps } else { &[] };
        let mut ran = 0_u64;
        let mut switching_ns = 0;
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            let start = starts.get(at).copied().unwrap_or(Start(-1, false));
            let next = steps.get(at + 1).filter(|_| start.1);
            at += if next.is_some() { 2 } else { 1 };
            // The reader takes earlier events before the next run, since writing would disturb it.
            let waits = !self.talk.output.outlet.is_empty() || self.talk.calls()?;
            if waits && self.talk.drain()? != Attention::Nothing {
                break;
            }
            let Some((ready, settings)) = self.defined.of(step) else { continue };
            let started = self.clock.now_ns();
            if self.machine.forks_for(settings) {
                self.observer.alone();
            }
            // Commands before and after a program run in the common group.
            let alone = next.is_none() && !ready.has_commands();
            self.machine.set_starter(alone.then(|| self.runner.starter()));
            if let Err(failure) = self.machine.switch(settings) {
                return self.broken_off(failure);
            }
            switching_ns += self.clock.now_ns() - started;
            self.defined.join([step, next.unwrap_or(step)], self.machine.join());
            let both = (self.defined.of(step), self.defined.of(next.unwrap_or(step)));
            let (Some((ready, settings)), Some((alongside, others))) = both else { continue };
            self.observer.placed(self.machine.places());
            let around = (&mut self.talk, &mut self.observer, &mut self.machine);
            let seq = first + ran;
            ran += if next.is_some() { 2 } else { 1 };
            let result = match next {
                Some(next) => {
                    let cpus = [start, starts[at - 1]].map(|start| start.cpu().unwrap_or(0));
                    let pair = ([ready, alongside], [settings, others], seq, [*step, *next], cpus);
                    self.runner.pair(pair, base, around)
                }
                None => self.runner.step(ready, settings, base, (seq, *step, start.cpu()), around),
            };
            let (outcome, attention) = match result {
                Ok(ended) => ended,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(error),
                Err(error) => {
                    // The program may still run, and must not live on into the next block.
                    sweep();
                    return self.broken_off(system(&error));
                }
            };
            if attention != Attention::Nothing || (stop_on_failure && outcome != Outcome::Ok) {
                break;
            }
        }
        let unknown = self.observer.end(&mut self.talk.output);
        self.talk.output.flush()?;
        self.machine.remarks.extend(self.runner.remark());
        let neighbours = self.runner.tallies.take();
        let noticed = match self.machine.noticed() {
            Ok(noticed) => noticed,
            Err(failure) => return Ok(Err(failure)),
        };
        Ok(match self.talk.output.spool_failure() {
            Some(failure) => Err(failure),
            None => Ok(json!({
                "ran": ran,
                "switching_ns": switching_ns,
                "drift": noticed["drift"],
                "clamped": noticed["clamped"],
                "remarks": noticed["remarks"],
                "unknown": unknown,
                "neighbours": neighbours,
            })),
        })
    }

    pub(super) fn overhead(&mut self, runs: u32) -> Answer {
        let base = opened(self.base.as_ref())?;
        let (starter, stream, late, null) = self.runner.parts();
        let (bare, own) = overhead(runs, starter, base, (stream, late), &mut self.talk, null)?;
        Ok(json!({"bare_ns": bare, "own_ns": own}))
    }
}

/// Check that the numbers of runs fit into signed 64-bit integers, in which they are stored everywhere.
fn numbered(first: u64, count: usize) -> Result<(), Failure> {
    if i64::try_from(first).is_ok_and(|first| first.checked_add_unsigned(count as u64).is_some()) {
        return Ok(());
    }
    let message = format!("Runs are numbered up to {}; {count} from {first} on are beyond that.", i64::MAX);
    Err(Failure::new("domain", message))
}
