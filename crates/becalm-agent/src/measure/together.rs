//! Two programs that run at the same time: prepare both, release both at once, wait for both, and report both.
//!
//! Each has its own spawner on its own CPU, which notices the end of its program there. Nothing of the
//! program that ends first is read until the other has ended, too, so that reading does not disturb it. A
//! program that fails ends the other one.

use std::io;

use becalm_core::exec::account::{reap, run_queue};
use becalm_core::exec::late::End;
use becalm_core::exec::now_ns;
use becalm_core::exec::program::BaseEnvironment;
use becalm_core::exec::spawner::{Side, SpawnError};
use becalm_core::exec::tree::{kill_tree, left, sweep};
use becalm_core::knob::settings::Settings;
use becalm_core::types::{Outcome, Row, Step};

use super::wait_pair::{wait_for_both, Started};
use super::{check_helper, is_expected, lived, Runner};
use crate::conversation::{Attention, Conversation};
use crate::machine::Machine;
use crate::observe::Observer;
use crate::protocol::start_failure;
use crate::ready::Ready;
use crate::script::Finished;

/// The result of one of the programs.
struct Half {
    row: Row,
    message: String,
}

/// The workloads and settings of two steps, the number of the first run, the steps, and their CPUs.
pub type Pair<'a> = ([&'a Ready; 2], [&'a Settings; 2], u64, [Step; 2], [u32; 2]);

impl Runner {
    /// Run two programs at the same time and report them, while attending to the conversation.
    pub fn pair(
        &mut self,
        (ready, settings, seq, mut steps, cpus): Pair,
        base: &BaseEnvironment,
        (talk, observer, machine): (&mut Conversation, &mut Observer, &mut Machine),
    ) -> io::Result<(Outcome, Attention)> {
        self.open_second()?;
        for (step, settings) in steps.iter_mut().zip(settings) {
            if settings.process.fixed_environment {
                step.2 = 0;
            }
        }
        let aborted = |side: usize| Half {
            row: Row {
                outcome: Outcome::Aborted,
                cpu: Some(cpus[side]),
                ..self.refused(seq + side as u64, steps[side])
            },
            message: String::new(),
        };
        let mut halves = [aborted(0), aborted(1)];
        let mut attention = Attention::Nothing;
        let mut ready_to_start = true;
        let cold = settings.iter().any(|each| each.process.cold);
        for side in 0..2 {
            let run = seq + side as u64;
            match self.prepare(ready[side], run, cold && side == 1, (base, talk, machine))? {
                Ok(Attention::Nothing) => continue,
                Ok(other) => attention = other,
                Err(failure) => {
                    halves[side].message = failure.message;
                    halves[side].row.outcome = Outcome::Refused;
                }
            }
            ready_to_start = false;
            break;
        }
        observer.before(seq);
        if ready_to_start {
            observer.alongside();
            attention =
                self.both((ready, settings, seq, steps, cpus), base, (talk, observer), &mut halves)?;
        }
        observer.after(seq + 1, &mut talk.output);
        if attention != Attention::Quit {
            for (side, half) in halves.iter_mut().enumerate() {
                let hooks = ready[side].hooks(base).ok();
                let Some(cleanup) = hooks.and_then(|hooks| hooks.cleanup.as_ref()) else { continue };
                match self.hook(cleanup, (&ready[side].environment, half.row.seq), base, talk)? {
                    Err(failure) => {
                        if half.row.outcome == Outcome::Ok {
                            half.row.outcome = Outcome::Failed;
                        }
                        half.message.push_str(&format!("The cleanup command failed. {}", failure.message));
                    }
                    Ok(Attention::Nothing) => {}
                    Ok(other) => attention = other,
                }
            }
        }
        halves.iter_mut().for_each(|half| check_helper(machine, &mut half.row, &mut half.message));
        record_start_difference(&mut halves);
        let of_second = left(seq + 1);
        let swept = sweep();
        let all = swept.killed + swept.remaining.len() as u32;
        halves[1].row.left_behind = of_second.min(all);
        halves[0].row.left_behind = all - halves[1].row.left_behind;
        if !swept.remaining.is_empty() {
            halves[0].message.push_str(&format!(
                "Processes {:?} that the two left behind could not be ended: they belong to another user or hang.",
                swept.remaining
            ));
        }
        let outcomes = halves.each_ref().map(|half| half.row.outcome);
        for (side, Half { mut row, message }) in halves.into_iter().enumerate() {
            let lane = if side == 0 { Some(&mut self.first) } else { self.second.as_mut() };
            let Some(lane) = lane else { continue };
            let measurements = lane.gauges.end(row.usage, row.wall_ns);
            let metrics = &ready[side].metrics;
            lane.streams.report(
                ready[side].workload.output,
                &mut row,
                (metrics, &measurements),
                message,
                talk,
            )?;
        }
        talk.output.finish()?;
        Ok((outcomes[0].or(outcomes[1]), attention))
    }

    /// Start both, wait for both, and record how each ended.
    fn both(
        &mut self,
        (ready, settings, seq, steps, cpus): Pair,
        base: &BaseEnvironment,
        (talk, observer): (&mut Conversation, &mut Observer),
        halves: &mut [Half; 2],
    ) -> io::Result<Attention> {
        let children = settings.map(|each| &each.process.child);
        let Some(second) = &mut self.second else { return Ok(Attention::Nothing) };
        let mut lanes = [&mut self.first, second];
        let gate = self.gate.close();
        let mut started = Started { children: [None, None], cut: [None, None] };
        for side in 0..2 {
            let lane = &mut *lanes[side];
            lane.streams.choose(ready[side].workload.output, ready[side].prints());
            lane.gauges.begin(&ready[side].metrics);
            let place = Side { cpu: Some(cpus[side]), gate: Some(gate) };
            // The program was resolved in `prepare`.
            let Ok(start) = ready[side].start(base) else { break };
            let run = (start, seq + side as u64, steps[side]);
            match lane.start(ready[side], children[side], base, run, place) {
                Ok(child) => started.children[side] = Some(child),
                Err(error) => {
                    halves[side].refuse(&error, ready[side], base);
                    break;
                }
            }
        }
        if let [Some(first), None] = &started.children {
            // It would wait at the gate for ever.
            kill_tree(first.pid);
            started.cut[0] = Some(Outcome::Aborted);
        }
        let stops = self.script.as_ref().is_some_and(|script| script.stops(steps[0].0));
        let stopped = if stops { started.stop_at_first_end()? } else { Attention::Nothing };
        let attention = wait_for_both(&mut lanes, &mut started, ready, (&mut *talk, &mut *observer))?;
        let mut ends = [None, None];
        for side in 0..2 {
            if started.children[side].is_some() {
                lanes[side].gauges.stop();
                ends[side] = lanes[side].spawner.ended_ns().ok();
            }
        }
        let numbers = started.children.each_ref().map(|child| child.as_ref().map(|child| child.pid));
        let early = lanes.each_ref().map(|lane| lane.spawner.early());
        let queues =
            [0, 1].map(|side| numbers[side].and_then(run_queue).map(|queue| queue.since(early[side])));
        let accounts = observer.ended_together(numbers, queues, early);
        for (side, (own, exit)) in accounts.into_iter().enumerate() {
            let Some(child) = &started.children[side] else { continue };
            let (status, usage) = reap(child.pid)?;
            let begun_ns = match lanes[side].spawner.begun(children[side]) {
                Ok(at) => at.unwrap_or(child.asked_ns),
                // The end was requested before the failure to execute the program was noticed.
                Err(_) if started.cut[side].is_some() => child.asked_ns,
                Err(error) => {
                    halves[side].refuse(&error, ready[side], base);
                    continue;
                }
            };
            let end = End { seen_ns: ends[side].unwrap_or_else(now_ns), late_ns: 0 };
            let end = exit.map_or(end, |exit| end.no_later(exit.latest_ns(usage.max_rss_bytes)));
            let mut run = Finished { begun_ns, end, queue: queues[side], own, status, usage };
            if let Some(script) = &mut self.script {
                run = script.replace(steps[side].0, &run).0;
            }
            observer.reaped(run.own, &run.usage);
            let row = &mut halves[side].row;
            row.started_ns = run.begun_ns + self.epoch_ns;
            row.wall_ns = lived(run.begun_ns, run.end, run.queue);
            row.usage = Some(run.usage);
            row.wait_ns = run.queue.map(|queue| queue.wait_ns);
            row.status = Some(run.status);
            row.outcome = match started.cut[side] {
                Some(outcome) => outcome,
                None if is_expected(ready[side], run.status) => Outcome::Ok,
                None => Outcome::Failed,
            };
        }
        Ok(if stops { stopped } else { attention })
    }

    fn open_second(&mut self) -> io::Result<()> {
        if let Some(spawner) = self.twin.take() {
            self.second = Some(self.first.twin(spawner, self.script.is_some())?);
        }
        Ok(())
    }
}

/// Record how far apart the two started, unless one of them was ended early or never began.
fn record_start_difference([first, second]: &mut [Half; 2]) {
    let early = |half: &Half| matches!(half.row.outcome, Outcome::Aborted | Outcome::Refused);
    if !early(first) && !early(second) {
        let apart_ns = first.row.started_ns - second.row.started_ns;
        (first.row.apart_ns, second.row.apart_ns) = (Some(apart_ns), Some(-apart_ns));
    }
}

impl Half {
    /// Record why the program could not be started.
    fn refuse(&mut self, error: &SpawnError, ready: &Ready, base: &BaseEnvironment) {
        let program = ready.start(base).ok().and_then(|start| start.program.as_ref());
        let explain = |e: &io::Error| program.map_or_else(|| e.to_string(), |program| program.explain(e));
        self.message = start_failure(error, explain).message;
        self.row.outcome = Outcome::Refused;
    }
}
