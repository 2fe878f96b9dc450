//! Run one step: prepare, start, watch, account, clean up, and end what is left.
//!
//! `Runner::step` runs a workload that was made ready once and gives its row. What happens
//! outside meanwhile (a stop request, the end of input, a signal) comes in through the conversation.

use std::fs;
use std::io;
use std::os::fd::{OwnedFd, RawFd};

use becalm_core::exec::account::{reap, run_queue};
use becalm_core::exec::child::{Child, Image, Order, StartError, Starter};
use becalm_core::exec::prepare::Preparation;
use becalm_core::exec::program::{Environment, Program, Surroundings};
use becalm_core::exec::stream::Stream;
use becalm_core::exec::tree::{kill_tree, sweep};
use becalm_core::exec::user::User;
use becalm_core::exec::watch::{watch, Woken};
use becalm_core::exec::{clock_ns, now_ns};
use becalm_core::knob::settings::Settings;
use becalm_core::types::{Outcome, Row, Step};

use crate::conversation::{Attention, Conversation};
use crate::observe::{Observer, LOOK_NS};
use crate::protocol::{start_failure, Failure};
use crate::ready::Ready;
use crate::streams::Streams;

/// How long a killed process may take to go before it is given up.
const KILL_PATIENCE_NS: i64 = 10_000_000_000;

/// Runs steps, one at a time.
pub struct Runner {
    starter: Starter,
    streams: Streams,
    /// Unix time minus CLOCK_MONOTONIC_RAW at the start, ns: a stepped clock leaves no mark on the runs.
    pub epoch_ns: i64,
}

/// How a started program ended.
struct Ended {
    row: Row,
    attention: Attention,
}

impl Runner {
    /// A runner that gives these descriptors to workloads whose output is inherited.
    pub fn new(null: OwnedFd, stdout: Option<OwnedFd>, stderr: Option<OwnedFd>) -> io::Result<Self> {
        Ok(Self {
            starter: Starter::new()?,
            streams: Streams::new(null, stdout, stderr)?,
            epoch_ns: clock_ns(libc::CLOCK_REALTIME) - now_ns(),
        })
    }

    /// Try whether settings can be applied, on a child that does nothing else.
    pub fn try_settings(&mut self, settings: &Preparation, user: Option<&User>) -> Result<(), Failure> {
        let image = Image::Kernel(becalm_core::types::Kernel::Add, 0);
        let null = self.streams.null();
        let order =
            Order { image, settings, user, directory: None, input: None, null, stdout: null, stderr: null };
        match self.starter.start(&order) {
            Ok(child) => reap(child.pid).map(drop).map_err(|error| system(&error)),
            Err(error) => Err(start_failure(&error, ToString::to_string)),
        }
    }

    /// The parts that `overhead` needs.
    pub fn parts(&mut self) -> (&mut Starter, &mut Stream, RawFd) {
        let null = self.streams.null();
        (&mut self.starter, &mut self.streams.err, null)
    }

    /// Run one step and report it. The conversation is attended to meanwhile.
    pub fn step(
        &mut self,
        ready: &mut Ready,
        settings: &Settings,
        base: &Surroundings,
        (seq, mut step): (u64, Step),
        (talk, observer): (&mut Conversation, &mut Observer),
    ) -> io::Result<(Outcome, Attention)> {
        self.streams.choose(ready.workload.output);
        if settings.process.fixed_environment {
            step.2 = 0;
        }
        let mut said = String::new();
        let mut ended = match self.prepare(ready, settings.process.cold, base, talk)? {
            Err(failure) => {
                said = failure.message;
                Ended { row: self.refused(seq, step), attention: Attention::Nothing }
            }
            Ok(Attention::Nothing) => {
                observer.before(seq);
                let ended = match self.start(ready, &settings.process.child, base, step) {
                    Ok(child) => self.watch_run(ready, &child, (seq, step), (talk, observer))?,
                    Err(error) => {
                        let explain = |e: &io::Error| {
                            ready.program.as_ref().map_or_else(|| e.to_string(), |program| program.explain(e))
                        };
                        said = start_failure(&error, explain).message;
                        Ended { row: self.refused(seq, step), attention: Attention::Nothing }
                    }
                };
                observer.after(seq, &mut talk.output);
                ended
            }
            Ok(attention) => {
                let mut row = self.refused(seq, step);
                row.outcome = Outcome::Aborted;
                Ended { row, attention }
            }
        };
        if ended.attention != Attention::Quit {
            if let Some(cleanup) = &ready.cleanup {
                let run = self.hook(cleanup, &mut ready.environment, base, talk)?;
                match run {
                    Err(failure) => {
                        said.push_str(&format!("The cleanup command failed. {}", failure.message))
                    }
                    Ok(Attention::Nothing) => {}
                    Ok(attention) => ended.attention = attention,
                }
            }
        }
        let swept = sweep();
        ended.row.left_behind = swept.killed + swept.remaining.len() as u32;
        if !swept.remaining.is_empty() {
            said.push_str(&format!(
                "Processes {:?} that it left behind could not be ended: they belong to another user or hang.",
                swept.remaining
            ));
        }
        self.streams.report(ready.workload.output, &ended.row, said, talk)?;
        Ok((ended.row.outcome, ended.attention))
    }

    fn prepare(
        &mut self,
        ready: &mut Ready,
        cold: bool,
        base: &Surroundings,
        talk: &mut Conversation,
    ) -> io::Result<Result<Attention, Failure>> {
        let mut attention = Attention::Nothing;
        if let Some(prepare) = &ready.prepare {
            match self.hook(prepare, &mut ready.environment, base, talk)? {
                Ok(found) => attention = found,
                Err(failure) => {
                    let message = format!("The prepare command failed. {}", failure.message);
                    return Ok(Err(Failure::new("prepare", message)));
                }
            }
        }
        if cold || ready.workload.cold {
            // SAFETY: no arguments.
            unsafe { libc::sync() };
            if let Err(error) = fs::write("/proc/sys/vm/drop_caches", "3") {
                let message =
                    format!("The page cache could not be dropped: /proc/sys/vm/drop_caches: {error}.");
                return Ok(Err(Failure::new("system", message)));
            }
        }
        Ok(Ok(attention))
    }

    fn start(
        &mut self,
        ready: &mut Ready,
        settings: &Preparation,
        base: &Surroundings,
        step: Step,
    ) -> Result<Child, StartError> {
        let null = self.streams.null();
        let (stdout, stderr) = self.streams.ends(ready.workload.output);
        let envp = ready.environment.with_padding(step.2 as usize);
        let image = match (&ready.program, ready.workload.kernel) {
            (Some(program), _) => Image::Exec { path: &program.path, argv: program.argv(), envp },
            (None, kernel) => {
                Image::Kernel(kernel.unwrap_or(becalm_core::types::Kernel::Add), ready.workload.iterations)
            }
        };
        self.starter.start(&Order {
            image,
            settings,
            user: base.user.as_ref(),
            directory: ready.program.as_ref().map(|program| program.directory.as_c_str()),
            input: ready.input.as_deref(),
            null,
            stdout,
            stderr,
        })
    }

    fn watch_run(
        &mut self,
        ready: &Ready,
        child: &Child,
        (seq, step): (u64, Step),
        (talk, observer): (&mut Conversation, &mut Observer),
    ) -> io::Result<Ended> {
        let limit = ready.workload.timeout_ns.and_then(|ns| i64::try_from(ns).ok());
        let deadline = limit.map(|ns| child.start_ns.saturating_add(ns));
        let (end_ns, cut, attention) = self.wait_for(child, deadline, talk, Some(&mut *observer))?;
        let queue = run_queue(child.pid);
        let own = observer.ended(child.pid, queue);
        let (status, usage) = reap(child.pid)?;
        observer.reaped(own, &usage);
        let expected = ready.workload.expect.as_ref().is_none_or(|codes| codes.contains(&status));
        let outcome = match cut {
            Some(outcome) => outcome,
            None if expected && status >= 0 => Outcome::Ok,
            None => Outcome::Failed,
        };
        let row = Row {
            seq,
            step,
            started_ns: child.start_ns + self.epoch_ns,
            wall_ns: end_ns - child.start_ns,
            usage: Some(usage),
            wait_ns: queue.map(|queue| queue.wait_ns),
            outcome,
            status: Some(status),
            left_behind: 0,
        };
        Ok(Ended { row, attention })
    }

    /// Wait for a child's end; kill its tree when its time is over or somebody wants it ended.
    fn wait_for(
        &mut self,
        child: &Child,
        mut deadline: Option<i64>,
        talk: &mut Conversation,
        mut observer: Option<&mut Observer>,
    ) -> io::Result<(i64, Option<Outcome>, Attention)> {
        let mut look_ns = observer.as_ref().filter(|each| each.looks()).map(|_| now_ns() + LOOK_NS);
        let mut cut = None;
        let mut attention = Attention::Nothing;
        loop {
            let others = talk.interests();
            let watched = if cut.is_some() { &[][..] } else { &others };
            let until = deadline.into_iter().chain(look_ns).min();
            let forwards = self.streams.forwards();
            // A program that writes more than is read waits, as it would in a pipe.
            self.streams.pause(talk.output.outlet.is_full());
            let Streams { err, out, .. } = &mut self.streams;
            let woken = watch(child, until, &mut [err, out], watched, forwards)?;
            match woken {
                Woken::Ended(end_ns) => {
                    self.streams.catch_up();
                    self.streams.forward(talk, Stream::take_whole)?;
                    return Ok((end_ns, cut, attention));
                }
                Woken::Output => self.streams.forward(talk, Stream::take_whole)?,
                Woken::Deadline if deadline.is_none_or(|deadline| now_ns() < deadline) => {
                    if let Some(observer) = &mut observer {
                        observer.look();
                    }
                    look_ns = look_ns.map(|_| now_ns() + LOOK_NS);
                    continue;
                }
                Woken::Deadline if cut.is_some() => {
                    let message = format!("process {} does not end although it was killed", child.pid);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                Woken::Deadline => cut = Some(Outcome::Timeout),
                Woken::Other => {
                    attention = talk.attend()?;
                    if attention != Attention::Nothing {
                        cut = Some(Outcome::Aborted);
                    }
                }
            }
            if cut.is_some() && woken != Woken::Output {
                kill_tree(child.pid);
                deadline = Some(now_ns() + KILL_PATIENCE_NS);
            }
        }
    }

    /// Run a prepare or cleanup command to its end, without settings.
    fn hook(
        &mut self,
        program: &Program,
        environment: &mut Environment,
        base: &Surroundings,
        talk: &mut Conversation,
    ) -> io::Result<Result<Attention, Failure>> {
        let null = self.streams.null();
        let settings = Preparation::default();
        let order = Order {
            image: Image::Exec {
                path: &program.path,
                argv: program.argv(),
                envp: environment.with_padding(0),
            },
            settings: &settings,
            user: base.user.as_ref(),
            directory: Some(&program.directory),
            input: None,
            null,
            stdout: null,
            stderr: self.streams.err.write_end(),
        };
        let child = match self.starter.start(&order) {
            Ok(child) => child,
            Err(error) => return Ok(Err(start_failure(&error, |e| program.explain(e)))),
        };
        let (_, _, attention) = self.wait_for(&child, None, talk, None)?;
        let (status, _) = reap(child.pid)?;
        if status != 0 && attention == Attention::Nothing {
            let how = if status < 0 { format!("signal {}", -status) } else { format!("exit code {status}") };
            let path = program.path.to_string_lossy();
            let message = format!("{path} ended with {how}. {}", self.streams.err.take());
            return Ok(Err(Failure::new("prepare", message)));
        }
        Ok(Ok(attention))
    }

    fn refused(&self, seq: u64, step: Step) -> Row {
        Row {
            seq,
            step,
            started_ns: now_ns() + self.epoch_ns,
            wall_ns: 0,
            usage: None,
            wait_ns: None,
            outcome: Outcome::Refused,
            status: None,
            left_behind: 0,
        }
    }
}

/// A failed system call as an error of the protocol.
pub fn system(error: &io::Error) -> Failure {
    Failure::new("system", format!("The machine refused while a program was run: {error}."))
}
