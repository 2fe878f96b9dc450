//! Waiting for the ends of two programs that run at the same time.

use std::io;
use std::os::fd::AsRawFd;

use becalm_core::exec::account::status_of;
use becalm_core::exec::now_ns;
use becalm_core::exec::poll::{reading, ready_within};
use becalm_core::exec::spawner::{Child, Spawner};
use becalm_core::exec::stream::Stream;
use becalm_core::exec::tree::kill_tree;
use becalm_core::exec::watch_pair::{watch_pair, PairWoken};
use becalm_core::types::Outcome;

use super::is_expected;
use super::lane::Lane;
use super::wait::KILL_PATIENCE_NS;
use crate::conversation::{Attention, Conversation};
use crate::observe::{Observer, LOOK_NS};
use crate::ready::Ready;

/// Two programs that were started, and the reason why either was ended early.
pub(super) struct Started {
    pub children: [Option<Child>; 2],
    pub cut: [Option<Outcome>; 2],
}

impl Started {
    /// End both programs like a stop that arrives after the first program has ended and before that is
    /// noticed (`ScriptedRun::stops`).
    pub fn stop_at_first_end(&mut self) -> io::Result<Attention> {
        if let [Some(first), Some(second)] = &self.children {
            ready_within(&[reading(first.pidfd.as_raw_fd())], KILL_PATIENCE_NS)?;
            kill_tree(second.pid);
            self.cut = [Some(Outcome::Aborted); 2];
        }
        Ok(Attention::Stop)
    }
}

/// Wait for the ends of both children. When the time of one is over, one fails, or an end is requested, both
/// are ended.
pub(super) fn wait_for_both(
    lanes: &mut [&mut Lane; 2],
    started: &mut Started,
    ready: [&Ready; 2],
    (talk, observer): (&mut Conversation, &mut Observer),
) -> io::Result<Attention> {
    let mut running = started.children.each_ref().map(Option::is_some);
    let mut attention = Attention::Nothing;
    let mut look_ns = observer.looks().then(|| now_ns() + LOOK_NS);
    let mut given_up_ns = started.cut.iter().any(Option::is_some).then(|| now_ns() + KILL_PATIENCE_NS);
    while running != [false; 2] {
        let deadlines = [0, 1].map(|side| {
            let spawner = &lanes[side].spawner;
            let limit = ready[side].workload.timeout_ns.and_then(|ns| i64::try_from(ns).ok())?;
            let child = started.children[side].as_ref().filter(|_| running[side])?;
            Some(spawner.begun_ns().unwrap_or(child.asked_ns).saturating_add(limit))
        });
        let until = match given_up_ns {
            Some(given_up_ns) => Some(given_up_ns),
            None => deadlines.into_iter().flatten().chain(look_ns).min(),
        };
        let others = talk.interests();
        let watched = if given_up_ns.is_some() { &[][..] } else { &others };
        let full = talk.output.outlet.is_full();
        lanes.iter_mut().for_each(|lane| lane.streams.pause(full));
        let forwards = lanes.iter().any(|lane| lane.streams.forwards());
        let children = [0, 1].map(|side| started.children[side].as_ref().filter(|_| running[side]));
        let woken = {
            let [one, other] = lanes.each_mut().map(|lane| &mut lane.streams);
            let mut streams = [&mut one.err, &mut one.out, &mut other.err, &mut other.out];
            watch_pair(children, until, &mut streams, watched, forwards)?
        };
        let mut ends = false;
        match woken {
            PairWoken::Ended(ended) => {
                for side in [0, 1].into_iter().filter(|side| ended[*side]) {
                    running[side] = false;
                    let Some(child) = &started.children[side] else { continue };
                    ends |= has_failed(&lanes[side].spawner, child, ready[side]);
                }
            }
            PairWoken::Output => {}
            PairWoken::Deadline if given_up_ns.is_some_and(|given_up_ns| now_ns() >= given_up_ns) => {
                let message = "two processes do not both end although they were killed";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            PairWoken::Deadline => {
                for (side, deadline) in deadlines.into_iter().enumerate() {
                    if deadline.is_some_and(|deadline| now_ns() >= deadline) {
                        started.cut[side] = Some(Outcome::Timeout);
                        ends = true;
                    }
                }
                if look_ns.is_some_and(|look_ns| now_ns() >= look_ns) {
                    observer.look();
                    look_ns = Some(now_ns() + LOOK_NS);
                }
            }
            PairWoken::Other => {
                attention = talk.attend()?;
                ends = attention != Attention::Nothing;
            }
        }
        for lane in lanes.iter_mut() {
            lane.streams.forward(talk, Stream::take_whole)?;
        }
        if ends && given_up_ns.is_none() {
            for side in [0, 1].into_iter().filter(|side| running[*side]) {
                started.cut[side].get_or_insert(Outcome::Aborted);
                if let Some(child) = &started.children[side] {
                    kill_tree(child.pid);
                }
            }
            given_up_ns = Some(now_ns() + KILL_PATIENCE_NS);
        }
    }
    for lane in lanes.iter_mut() {
        lane.streams.catch_up();
        lane.streams.forward(talk, Stream::take_whole)?;
    }
    Ok(attention)
}

/// Return whether a program that has ended failed, or never began.
fn has_failed(spawner: &Spawner, child: &Child, ready: &Ready) -> bool {
    spawner.begun_ns().is_none()
        || spawner.has_failed()
        || !status_of(child.pid).is_some_and(|status| is_expected(ready, status))
}
