//! The execution of one step: prepare, start, watch, account, clean up, and end what is left.
//!
//! `Runner::step` runs a prepared workload and reports its row; `wait` waits for the end of programs, and
//! runs the commands before and after them. Outside events (a stop request, the end of input, a signal)
//! arrive through the conversation.

mod lane;
mod together;
mod wait;
mod wait_pair;

use std::io;
use std::os::fd::{OwnedFd, RawFd};

use becalm_core::exec::account::{reap, run_queue, RunQueue};
use becalm_core::exec::child::Stage;
use becalm_core::exec::gate::SharedGate;
use becalm_core::exec::late::{End, Lateness};
use becalm_core::exec::prepare::Preparation;
use becalm_core::exec::program::BaseEnvironment;
use becalm_core::exec::spawner::{Executable, Side, SpawnError, SpawnRequest, Spawner};
use becalm_core::exec::stream::Stream;
use becalm_core::exec::tree::sweep;
use becalm_core::exec::user::User;
use becalm_core::knob::settings::Settings;
use becalm_core::time::{AnyClock, Clock};
use becalm_core::types::{Outcome, Row, Step};

use self::lane::Lane;
use crate::conversation::{Attention, Conversation};
use crate::machine::Machine;
use crate::neighbours::{Neighbours, Tallies};
use crate::observe::Observer;
use crate::protocol::{start_failure, Failure};
use crate::ready::Ready;
use crate::recording::Recording;
use crate::script::{Finished, Script};

/// A runner of steps, one at a time.
pub struct Runner {
    first: Lane,
    /// The lane of the second of two programs that run at the same time, once there are any.
    second: Option<Lane>,
    /// The spawner of that lane until then, and the gate at which the two wait for each other.
    twin: Option<Spawner>,
    gate: SharedGate,
    late: Lateness,
    /// The recording of context switches while a program runs.
    pub recording: Option<Recording>,
    /// The clock of reported times; begin and end of programs are observed on the system's clock.
    pub clock: AnyClock,
    script: Option<Script>,
    /// Unix time minus CLOCK_MONOTONIC_RAW at the start, ns: a stepped clock does not affect runs.
    pub epoch_ns: i64,
    /// The totals of the programs' neighbours in this block.
    pub tallies: Tallies,
}

/// The end of a started program.
struct Ended {
    row: Row,
    attention: Attention,
}

impl Runner {
    /// Create a runner that passes these descriptors to workloads with inherited output, and reports the
    /// figures of a script if there is one.
    pub fn new(
        (spawner, twin, gate): (Spawner, Spawner, SharedGate),
        null: OwnedFd,
        inherited: (Option<OwnedFd>, Option<OwnedFd>),
        script: Option<Script>,
    ) -> io::Result<Self> {
        let clock = script.as_ref().map_or(AnyClock::System, Script::clock);
        Ok(Self {
            first: Lane::new(spawner, null, inherited, script.is_some())?,
            second: None,
            twin: Some(twin),
            gate,
            recording: None,
            late: Lateness::open(),
            epoch_ns: clock.epoch_ns(),
            clock,
            script,
            tallies: Tallies::default(),
        })
    }

    /// Try whether settings can be applied, on a child that does nothing else.
    pub fn try_settings(&mut self, settings: &Preparation, user: Option<&User>) -> Result<(), Failure> {
        let null = self.first.streams.null();
        let request = SpawnRequest {
            executable: Executable::Kernel(becalm_core::types::Kernel::Add, 0),
            settings,
            user,
            directory: None,
            input: None,
            null,
            stdout: null,
            stderr: null,
        };
        let failed = |error| start_failure(&error, ToString::to_string);
        let child = self.first.spawner.start(&request).map_err(failed)?;
        // The child ends by itself.
        reap(child.pid).map_err(|error| system(&error))?;
        self.first.spawner.begun(settings).map_err(failed).map(drop)
    }

    /// Return the parts that `overhead` needs.
    pub fn parts(&mut self) -> (&mut Spawner, &mut Stream, &Lateness, RawFd) {
        let null = self.first.streams.null();
        (&mut self.first.spawner, &mut self.first.streams.err, &self.late, null)
    }

    /// Return a remark about how events are counted here, once.
    pub fn remark(&mut self) -> Option<String> {
        self.first.gauges.remark()
    }

    /// Return the process that starts programs.
    pub fn starter(&self) -> libc::pid_t {
        self.first.spawner.pid()
    }

    /// Return both processes that start programs: the second one starts programs that run at the same time as
    /// another.
    pub fn starters(&self) -> [libc::pid_t; 2] {
        let twin = self.twin.as_ref().or(self.second.as_ref().map(|lane| &lane.spawner));
        [self.starter(), twin.map_or(self.starter(), Spawner::pid)]
    }

    /// Run one step and report it, while attending to the conversation.
    pub fn step(
        &mut self,
        ready: &Ready,
        settings: &Settings,
        base: &BaseEnvironment,
        (seq, mut step, cpu): (u64, Step, Option<u32>),
        (talk, observer, machine): (&mut Conversation, &mut Observer, &mut Machine),
    ) -> io::Result<(Outcome, Attention)> {
        self.first.streams.choose(ready.workload.output, ready.prints());
        if settings.process.fixed_environment {
            step.2 = 0;
        }
        let mut message = String::new();
        let mut ended = match self.prepare(ready, seq, settings.process.cold, (base, talk, machine))? {
            Err(failure) => {
                message = failure.message;
                Ended { row: self.refused(seq, step), attention: Attention::Nothing }
            }
            Ok(Attention::Nothing) => match self.alongside(ready, base, (talk, observer))? {
                Err(failure) => {
                    message = failure.message;
                    Ended { row: self.refused(seq, step), attention: Attention::Nothing }
                }
                Ok(neighbours) => {
                    let around = (seq, step, cpu);
                    let mut ended =
                        self.placed(ready, settings, base, around, (talk, observer, machine), &mut message)?;
                    if let Some(neighbours) = neighbours {
                        match neighbours.end(talk)? {
                            Ok(did) => self.tallies.add(step.0, &did),
                            Err(failure) => {
                                message.push_str(&failure.message);
                                ended.row.outcome = Outcome::Failed;
                            }
                        }
                    }
                    observer.after(seq, &mut talk.output);
                    ended
                }
            },
            Ok(attention) => {
                let mut row = self.refused(seq, step);
                row.outcome = Outcome::Aborted;
                Ended { row, attention }
            }
        };
        if ended.attention != Attention::Quit {
            let cleanup = ready.hooks(base).ok().and_then(|hooks| hooks.cleanup.as_ref());
            if let Some(cleanup) = cleanup {
                match self.hook(cleanup, (&ready.environment, seq), base, talk)? {
                    Err(failure) => {
                        // The next run would start from the state that this one has left.
                        if ended.row.outcome == Outcome::Ok {
                            ended.row.outcome = Outcome::Failed;
                        }
                        message.push_str(&format!("The cleanup command failed. {}", failure.message))
                    }
                    Ok(Attention::Nothing) => {}
                    Ok(attention) => ended.attention = attention,
                }
            }
        }
        check_helper(machine, &mut ended.row, &mut message);
        let swept = sweep();
        ended.row.left_behind = swept.killed + swept.remaining.len() as u32;
        if !swept.remaining.is_empty() {
            message.push_str(&format!(
                "Processes {:?} that it left behind could not be ended: they belong to another user or hang.",
                swept.remaining
            ));
        }
        let measurements = self.first.gauges.end(ended.row.usage, ended.row.wall_ns);
        self.first.streams.report(
            ready.workload.output,
            &mut ended.row,
            (&ready.metrics, &measurements),
            message,
            talk,
        )?;
        talk.output.finish()?;
        if ended.row.outcome == Outcome::Ok && step.3 >= 0 && !observer.draws() {
            if let Some(event) = measurements.event(seq, &ready.drawn) {
                talk.output.series(event);
            }
        }
        Ok((ended.row.outcome, ended.attention))
    }

    /// Run the program at the place of its settings; `message` receives the reason if it could not run.
    fn placed(
        &mut self,
        ready: &Ready,
        settings: &Settings,
        base: &BaseEnvironment,
        (seq, step, cpu): (u64, Step, Option<u32>),
        (talk, observer, machine): (&mut Conversation, &mut Observer, &mut Machine),
        message: &mut String,
    ) -> io::Result<Ended> {
        let placed = machine.place(Some(self.first.spawner.pid()), settings);
        observer.before(seq);
        self.first.gauges.begin(&ready.metrics);
        if let Err(failure) = placed {
            *message = failure.message;
            return Ok(Ended { row: self.refused(seq, step), attention: Attention::Nothing });
        }
        let ran = self.run(ready, &settings.process.child, base, (seq, step, cpu), (talk, observer))?;
        if ready.has_commands() {
            // The commands run in the common group. If this fails, the helper has ended.
            drop(machine.place(None, settings));
        }
        Ok(ran.unwrap_or_else(|error| {
            let program = ready.start(base).ok().and_then(|start| start.program.as_ref());
            let explain = |e: &io::Error| program.map_or_else(|| e.to_string(), |found| found.explain(e));
            *message = start_failure(&error, explain).message;
            Ended { row: self.refused(seq, step), attention: Attention::Nothing }
        }))
    }

    fn prepare(
        &mut self,
        ready: &Ready,
        seq: u64,
        cold: bool,
        (base, talk, machine): (&BaseEnvironment, &mut Conversation, &mut Machine),
    ) -> io::Result<Result<Attention, Failure>> {
        let around = (&ready.environment, seq);
        if let Some(setup) = ready.setup.as_ref().filter(|_| !ready.set_up.get()) {
            match self.hook(setup, around, base, talk)? {
                Ok(Attention::Nothing) => {}
                Ok(attention) => return Ok(Ok(attention)),
                Err(failure) => return Ok(Err(failed("setup", &failure))),
            }
        }
        let hooks = match ready.hooks(base) {
            Ok(hooks) => hooks,
            Err(failure) => return Ok(Err(failure)),
        };
        if let Some(prepare) = &hooks.prepare {
            match self.hook(prepare, around, base, talk)? {
                Ok(Attention::Nothing) => {}
                Ok(attention) => return Ok(Ok(attention)),
                Err(failure) => return Ok(Err(failed("prepare", &failure))),
            }
        }
        if let Err(failure) = ready.start(base) {
            return Ok(Err(failure));
        }
        ready.set_up.set(true);
        if cold || ready.workload.cold {
            if let Err(failure) = machine.drop_caches() {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(Attention::Nothing))
    }

    /// Start the neighbours of a workload, if it has any.
    fn alongside(
        &mut self,
        ready: &Ready,
        base: &BaseEnvironment,
        (talk, observer): (&mut Conversation, &mut Observer),
    ) -> io::Result<Result<Option<Neighbours>, Failure>> {
        if ready.neighbours.is_empty() {
            return Ok(Ok(None));
        }
        // The process that keeps them running is forked, which requires a single thread.
        observer.alone();
        Ok(Neighbours::start(&ready.neighbours, base, talk)?.map(Some))
    }

    /// Run the program itself.
    ///
    /// # Errors
    /// The inner error is the reason why it could not be started.
    fn run(
        &mut self,
        ready: &Ready,
        settings: &Preparation,
        base: &BaseEnvironment,
        (seq, step, cpu): (u64, Step, Option<u32>),
        (talk, observer): (&mut Conversation, &mut Observer),
    ) -> io::Result<Result<Ended, SpawnError>> {
        let side = Side { cpu, gate: None };
        // The program was resolved in `prepare`, after the commands before it.
        let Ok(start) = ready.start(base) else {
            return Ok(Err(SpawnError::Child { stage: Stage::Exec, error: io::ErrorKind::NotFound.into() }));
        };
        let child = match self.first.start(ready, settings, base, (start, seq, step), side) {
            Ok(child) => child,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(recording) = &mut self.recording {
            recording.started(seq, child.pid, talk)?;
        }
        let limit = ready.workload.timeout_ns.and_then(|ns| i64::try_from(ns).ok());
        let (end, cut, attention) = self.wait_for(&child, limit, talk, Some(&mut *observer))?;
        let begun_ns = match self.first.spawner.begun(settings) {
            Ok(begun) => begun.unwrap_or(child.asked_ns),
            Err(error) => {
                reap(child.pid)?;
                return Ok(Err(error));
            }
        };
        self.first.gauges.stop();
        let early = self.first.spawner.early();
        let queue = run_queue(child.pid).map(|queue| queue.since(early));
        let (own, exit) = observer.ended(child.pid, queue, early);
        let (status, usage) = reap(child.pid)?;
        let end = exit.map_or(end, |exit| end.no_later(exit.latest_ns(usage.max_rss_bytes)));
        let mut run = Finished { begun_ns, end, queue, own, status, usage };
        if let Some(script) = &mut self.script {
            let (scripted, resident) = script.replace(step.0, &run);
            self.first.gauges.script(resident);
            run = scripted;
        }
        observer.reaped(run.own, &run.usage);
        let outcome = match cut {
            Some(outcome) => outcome,
            None if is_expected(ready, run.status) => Outcome::Ok,
            None => Outcome::Failed,
        };
        let row = Row {
            seq,
            step,
            started_ns: run.begun_ns + self.epoch_ns,
            wall_ns: lived(run.begun_ns, run.end, run.queue),
            usage: Some(run.usage),
            wait_ns: run.queue.map(|queue| queue.wait_ns),
            outcome,
            status: Some(run.status),
            left_behind: 0,
            metrics: None,
            cpu,
            apart_ns: None,
        };
        Ok(Ok(Ended { row, attention }))
    }

    fn refused(&self, seq: u64, step: Step) -> Row {
        Row {
            seq,
            step,
            started_ns: self.clock.now_ns() + self.epoch_ns,
            wall_ns: 0,
            usage: None,
            wait_ns: None,
            outcome: Outcome::Refused,
            status: None,
            left_behind: 0,
            metrics: None,
            cpu: None,
            apart_ns: None,
        }
    }
}

/// Count a run as failed if the helper has ended: its guard has restored the settings meanwhile.
fn check_helper(machine: &Machine, row: &mut Row, message: &mut String) {
    if let (Outcome::Ok, Err(failure)) = (row.outcome, machine.check_helper()) {
        row.outcome = Outcome::Failed;
        message.push_str(&failure.message);
    }
}

/// Return whether a status counts as success.
fn is_expected(ready: &Ready, status: i32) -> bool {
    status >= 0 && ready.workload.expect.as_ref().is_none_or(|codes| codes.contains(&status))
}

/// Return the failure of a command around a program.
fn failed(called: &str, failure: &Failure) -> Failure {
    Failure::new("prepare", format!("The {called} command failed. {}", failure.message))
}

/// Return the lifetime of a program, ns: at least the time that it ran and waited for a CPU.
fn lived(begun_ns: i64, end: End, queue: Option<RunQueue>) -> i64 {
    let least_ns = queue.map_or(1, |queue| (queue.exec_ns + queue.wait_ns).max(1));
    end.at(begun_ns + least_ns) - begun_ns
}

/// Return a failed system call as an error of the protocol.
pub fn system(error: &io::Error) -> Failure {
    Failure::new("system", format!("The machine refused while a program was run: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_at_least_the_time_on_the_run_queue() {
        let queue = |exec_ns, wait_ns| Some(RunQueue { exec_ns, wait_ns });
        let end = End { seen_ns: 1_000, late_ns: 300 };
        assert_eq!(lived(100, end, queue(500, 50)), 600);
        assert_eq!(lived(100, end, queue(600, 50)), 650);
        assert_eq!(lived(100, end, None), 600);
        // The assumed lateness exceeds the lifetime.
        assert_eq!(lived(900, end, None), 1);
        assert_eq!(lived(900, end, queue(30, 0)), 30);
        assert_eq!(lived(900, end, queue(5_000, 0)), 100, "no longer than was seen");
    }
}
