//! Waiting for the end of a program, or of a command before or after it.

use std::io;
use std::os::fd::AsRawFd;

use becalm_core::exec::account::reap;
use becalm_core::exec::late::End;
use becalm_core::exec::now_ns;
use becalm_core::exec::poll::{reading, ready_within};
use becalm_core::exec::prepare::Preparation;
use becalm_core::exec::program::{BaseEnvironment, Environment, Program};
use becalm_core::exec::spawner::{Child, Executable, SpawnRequest};
use becalm_core::exec::stream::Stream;
use becalm_core::exec::tree::kill_tree;
use becalm_core::exec::watch::{watch, Woken};
use becalm_core::types::Outcome;

use super::Runner;
use crate::conversation::{Attention, Conversation};
use crate::observe::{Observer, LOOK_NS};
use crate::protocol::{start_failure, Failure};
use crate::recording::Recording;
use crate::streams::Streams;

/// The time after which a killed process that does not end is given up, ns.
pub(super) const KILL_PATIENCE_NS: i64 = 10_000_000_000;

impl Runner {
    /// Wait for the end of a child; kill its tree when its time (ns) is over or an end is requested.
    pub(super) fn wait_for(
        &mut self,
        child: &Child,
        limit: Option<i64>,
        talk: &mut Conversation,
        observer: Option<&mut Observer>,
    ) -> io::Result<(End, Option<Outcome>, Attention)> {
        let waited = self.wait(child, limit, talk, observer);
        if waited.is_err() {
            // It must not live on into the next block. A process that did not end after SIGKILL was given up
            // before.
            kill_tree(child.pid);
            if ready_within(&[reading(child.pidfd.as_raw_fd())], KILL_PATIENCE_NS / 10)? {
                reap(child.pid)?;
            }
        }
        waited
    }

    fn wait(
        &mut self,
        child: &Child,
        limit: Option<i64>,
        talk: &mut Conversation,
        mut observer: Option<&mut Observer>,
    ) -> io::Result<(End, Option<Outcome>, Attention)> {
        // Setup, prepare and cleanup commands are not observed.
        let program = observer.is_some();
        let mut look_ns = observer.as_ref().filter(|each| each.looks()).map(|_| now_ns() + LOOK_NS);
        let (mut cut, mut given_up_ns) = (None, None);
        let mut attention = Attention::Nothing;
        loop {
            let begun_ns = || self.first.spawner.begun_ns().unwrap_or(child.asked_ns);
            let deadline = given_up_ns.or_else(|| Some(begun_ns().saturating_add(limit?)));
            let others = talk.interests();
            let watched = if cut.is_some() { &[][..] } else { &others };
            let gauge_ns = self.first.gauges.due_ns().filter(|_| program);
            let record_ns = self.recording.as_ref().filter(|_| program).map(Recording::due_ns);
            let until = deadline.into_iter().chain(look_ns).chain(gauge_ns).chain(record_ns).min();
            let forwards = self.first.streams.forwards();
            // A program that writes more than is read blocks, as with any pipe.
            self.first.streams.pause(talk.output.outlet.is_full());
            let Streams { err, out, .. } = &mut self.first.streams;
            // What arrived while neighbours were started was read then.
            let woken = match talk.input.has_unseen() && cut.is_none() {
                true => Woken::Other,
                false => watch(child, until, &mut [err, out], watched, forwards, &self.late)?,
            };
            match woken {
                Woken::Ended(end) => {
                    self.first.streams.catch_up();
                    self.first.streams.forward(talk, Stream::take_whole)?;
                    return Ok((end, cut, attention));
                }
                Woken::Output => self.first.streams.forward(talk, Stream::take_whole)?,
                Woken::Deadline if deadline.is_none_or(|deadline| now_ns() < deadline) => {
                    if program {
                        self.first.gauges.look();
                        if let Some(recording) = &mut self.recording {
                            recording.look(talk)?;
                        }
                    }
                    if look_ns.is_some_and(|look_ns| now_ns() >= look_ns) {
                        if let Some(observer) = &mut observer {
                            observer.look();
                        }
                        look_ns = Some(now_ns() + LOOK_NS);
                    }
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
                given_up_ns = Some(now_ns() + KILL_PATIENCE_NS);
            }
        }
    }

    /// Run a setup, prepare or cleanup command to its end, without settings. `run` is the number of the run.
    pub(super) fn hook(
        &mut self,
        program: &Program,
        (environment, run): (&Environment, u64),
        base: &BaseEnvironment,
        talk: &mut Conversation,
    ) -> io::Result<Result<Attention, Failure>> {
        let null = self.first.streams.null();
        let settings = Preparation::default();
        let request = SpawnRequest {
            executable: Executable::Program {
                path: &program.path,
                arguments: &program.arguments,
                environment,
                padding: 0,
                run: Some(run),
            },
            settings: &settings,
            user: base.user.as_ref(),
            directory: Some(&program.directory),
            input: None,
            null,
            stdout: null,
            stderr: self.first.streams.err.write_end(),
        };
        let failed = |error| start_failure(&error, |e| program.explain(e));
        let child = match self.first.spawner.start(&request) {
            Ok(child) => child,
            Err(error) => return Ok(Err(failed(error))),
        };
        let (_, _, attention) = self.wait_for(&child, None, talk, None)?;
        let (status, _) = reap(child.pid)?;
        if let Err(error) = self.first.spawner.begun(&settings) {
            return Ok(Err(failed(error)));
        }
        if status != 0 && attention == Attention::Nothing {
            let how = if status < 0 { format!("signal {}", -status) } else { format!("exit code {status}") };
            let path = program.path.to_string_lossy();
            let message = format!("{path} ended with {how}. {}", self.first.streams.err.take());
            return Ok(Err(Failure::new("prepare", message)));
        }
        Ok(Ok(attention))
    }
}
