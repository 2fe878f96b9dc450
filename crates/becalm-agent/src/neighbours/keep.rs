//! The process that keeps neighbours running: starts them, starts them again when they end, and ends them all.
//!
//! It is told to end by SIGTERM, from the agent or, when that was killed, from the kernel. Should it be killed itself,
//! its children get SIGKILL (PR_SET_PDEATHSIG) and what these have started becomes the agent's, which ends it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use becalm_core::exec::account::{reap, run_queue};
use becalm_core::exec::now_ns;
use becalm_core::exec::poll::{poll, readable, reading, ready_within, NOTHING};
use becalm_core::exec::program::BaseEnvironment;
use becalm_core::exec::spawner::{Child, SpawnRequest, Spawner};
use becalm_core::exec::tree::{adopt_orphans, kill_tree, sweep};
use becalm_core::source::pid_stat::PidStat;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::conversation::signals;
use crate::protocol::start_failure;
use crate::ready::ReadyNeighbour;

/// One that lives for less is no steady neighbour: most of its time is that of starting it.
pub const SHORT_NS: i64 = 1_000_000;

/// How long is waited before one that was short or failed is started again, at first; twice as long each time, up to
const PAUSE_NS: i64 = 1_000_000;
const LONGEST_PAUSE_NS: i64 = 100_000_000;

/// A neighbour is at work when it has used so much CPU time,
const AT_WORK_CPU_NS: i64 = 5_000_000;

/// or after this time: one that sleeps, or whose work its children do. One that still waits for a CPU by then, as on a
/// busy machine, is not at work;
const AT_WORK_NS: i64 = 100_000_000;

/// but nobody waits for longer than this.
const WAITED_NS: i64 = 10_000_000_000;

/// How long the system calls between a clone and a program may take.
const PATIENCE_NS: i64 = 10_000_000_000;

const LOOK_NS: i64 = 200_000;

/// PF_FORKNOEXEC (include/linux/sched.h): forked, and not become a program yet.
const FORK_NO_EXEC: u64 = 0x40;

/// What a neighbour did, in one run or in all of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// How often it ended and was started again.
    pub restarts: u64,
    /// How often it ended otherwise than it should, and how the last time: exit code, or minus the signal.
    pub failures: u64,
    pub status: Option<i32>,
    /// How often it lived for less than `SHORT_NS`.
    pub short: u64,
    /// Of it and of all that it waited for.
    pub cpu_ns: i64,
    /// How long it was kept, and how long of that it did not run: ended, and not started again yet.
    pub kept_ns: i64,
    pub away_ns: i64,
}

impl Tally {
    /// What it did in one run more.
    pub fn add(&mut self, other: &Tally) {
        self.restarts += other.restarts;
        self.failures += other.failures;
        self.status = other.status.or(self.status);
        self.short += other.short;
        self.cpu_ns += other.cpu_ns;
        self.kept_ns += other.kept_ns;
        self.away_ns += other.away_ns;
    }
}

/// Keep them running until SIGTERM, and tell in lines of JSON when they are at work and what they did; the exit code.
pub fn keep(mut report: File, wanted: &[ReadyNeighbour], base: &BaseEnvironment) -> i32 {
    let mut said = Keeper::new(wanted, base).map_err(|error| cannot(&error)).and_then(|mut keeper| {
        let up = keeper.start_all();
        if up.is_ok() {
            tell(&mut report, &json!({"event": "started"}));
            keeper.until_told();
        }
        let did = keeper.end();
        up.map(|()| json!({"event": "done", "neighbours": did}))
    });
    if let Err(message) = &said {
        said = Ok(json!({"event": "error", "message": message}));
    }
    tell(&mut report, &said.unwrap_or_default());
    0
}

fn tell(report: &mut File, value: &serde_json::Value) {
    // Who does not want to know need not listen.
    let _ = report.write_all(format!("{value}\n").as_bytes());
}

fn cannot(error: &io::Error) -> String {
    format!("Neighbours cannot be kept running on this machine: {error}.")
}

/// All of them.
struct Keeper<'a> {
    spawner: Spawner,
    null: File,
    told: OwnedFd,
    base: &'a BaseEnvironment,
    all: Vec<Kept<'a>>,
}

/// One of them. `since_ns`: when it began, or, without a child, when it ended.
struct Kept<'a> {
    wanted: &'a ReadyNeighbour,
    child: Option<Child>,
    first_ns: i64,
    since_ns: i64,
    again_ns: i64,
    pause_ns: i64,
    tally: Tally,
}

impl<'a> Keeper<'a> {
    fn new(wanted: &'a [ReadyNeighbour], base: &'a BaseEnvironment) -> io::Result<Self> {
        adopt_orphans()?;
        let told = signals()?;
        let one = |wanted| Kept {
            wanted,
            child: None,
            first_ns: 0,
            since_ns: 0,
            again_ns: 0,
            pause_ns: PAUSE_NS,
            tally: Tally::default(),
        };
        Ok(Self {
            spawner: Spawner::new(None)?,
            null: File::options().read(true).write(true).open("/dev/null")?,
            told,
            base,
            all: wanted.iter().map(one).collect(),
        })
    }

    /// Start all, and wait until each is at work. An error is a sentence about one of them.
    fn start_all(&mut self) -> Result<(), String> {
        for index in 0..self.all.len() {
            self.start(index)?;
            self.all[index].first_ns = self.all[index].since_ns;
        }
        loop {
            if let Some(kept) = self.all.iter().find(|kept| kept.tally.failures > 0) {
                return Err(kept.failed());
            }
            if self.over() || self.all.iter().all(Kept::at_work) {
                return Ok(());
            }
            self.wait(Some(now_ns() + 5 * LOOK_NS)).map_err(|error| cannot(&error))?;
        }
    }

    /// Start them again whenever they end, until told to end.
    fn until_told(&mut self) {
        while !self.over() {
            let next_ns = self.all.iter().filter(|kept| kept.child.is_none()).map(|kept| kept.again_ns).min();
            if self.wait(next_ns).is_err() {
                return;
            }
        }
    }

    /// Wait until one ends, a time comes, or this is told to end; start again what is due.
    fn wait(&mut self, until_ns: Option<i64>) -> io::Result<()> {
        let ends = self
            .all
            .iter()
            .map(|kept| kept.child.as_ref().map_or(NOTHING, |child| reading(child.pidfd.as_raw_fd())));
        let mut polls: Vec<_> = ends.chain([reading(self.told.as_raw_fd())]).collect();
        poll(&mut polls, until_ns.map(|at| (at - now_ns()).max(0)))?;
        for (index, poll) in polls.iter().enumerate().take(self.all.len()) {
            if poll.revents != 0 {
                self.all[index].ended()?;
            }
            let due = self.all[index].child.is_none() && self.all[index].again_ns <= now_ns();
            if due && !self.over() {
                self.again(index);
            }
        }
        Ok(())
    }

    fn again(&mut self, index: usize) {
        let ended_ns = self.all[index].since_ns;
        let started = self.start(index);
        let kept = &mut self.all[index];
        kept.tally.restarts += 1;
        if started.is_err() {
            kept.tally.failures += 1;
            kept.pause();
        } else {
            kept.tally.away_ns += kept.since_ns - ended_ns;
        }
    }

    /// Start one, and wait until it is the program: then the spawner's memory is free for the next.
    fn start(&mut self, index: usize) -> Result<(), String> {
        let kept = &mut self.all[index];
        let ReadyNeighbour { ready, settings } = kept.wanted;
        let settings = &settings.process.child;
        let null = self.null.as_raw_fd();
        let start = ready.start(self.base).map_err(|failure| failure.message)?;
        let explain = |error: &io::Error| {
            start.program.as_ref().map_or_else(|| error.to_string(), |found| found.explain(error))
        };
        let failed =
            |error| format!("A neighbour cannot be started. {}", start_failure(&error, explain).message);
        let child = self
            .spawner
            .start(&SpawnRequest {
                executable: ready.executable(start, 0, None),
                settings,
                user: self.base.user.as_ref(),
                directory: start.program.as_ref().map(|program| program.directory.as_c_str()),
                input: start.input.as_deref(),
                null,
                stdout: null,
                stderr: null,
            })
            .map_err(failed)?;
        let given_up_ns = now_ns() + PATIENCE_NS;
        let begun_ns = loop {
            let ended = readable(child.pidfd.as_raw_fd()).unwrap_or(true);
            match self.spawner.begun(settings) {
                Err(error) => {
                    let _ = reap(child.pid);
                    return Err(failed(error));
                }
                Ok(Some(begun_ns)) if ended || start.program.is_none() || executed(child.pid) => {
                    break begun_ns
                }
                Ok(begun_ns) if ended => break begun_ns.unwrap_or(child.asked_ns),
                Ok(_) if now_ns() > given_up_ns => {
                    kill_tree(child.pid);
                    let _ = reap(child.pid);
                    return Err(format!(
                        "{} does not begin: its input may be one that nobody writes to.",
                        ready.called()
                    ));
                }
                Ok(_) => {
                    let _ = ready_within(&[reading(child.pidfd.as_raw_fd())], LOOK_NS);
                }
            }
        };
        (kept.since_ns, kept.child) = (begun_ns, Some(child));
        Ok(())
    }

    /// Whether somebody wants an end. What was signalled is not read: it stays so.
    fn over(&self) -> bool {
        readable(self.told.as_raw_fd()).unwrap_or(true)
    }

    /// End all, with all that they have started; what each did.
    fn end(&mut self) -> Vec<Tally> {
        let ended_ns = now_ns();
        for kept in &mut self.all {
            if let Some(child) = &kept.child {
                kill_tree(child.pid);
            } else if kept.first_ns != 0 {
                kept.tally.away_ns += ended_ns - kept.since_ns;
            }
        }
        for kept in &mut self.all {
            let Some(child) = kept.child.take() else { continue };
            // One that hangs in the kernel is left to the sweep, which names it to nobody but does not wait for ever.
            if ready_within(&[reading(child.pidfd.as_raw_fd())], PATIENCE_NS).unwrap_or(false) {
                if let Ok((_, usage)) = reap(child.pid) {
                    kept.tally.cpu_ns += usage.user_ns + usage.system_ns;
                }
            }
        }
        sweep();
        for kept in &mut self.all {
            kept.tally.kept_ns = if kept.first_ns == 0 { 0 } else { ended_ns - kept.first_ns };
        }
        self.all.iter().map(|kept| kept.tally.clone()).collect()
    }
}

impl Kept<'_> {
    /// It has ended: how, and when it is started again.
    fn ended(&mut self) -> io::Result<()> {
        let Some(child) = self.child.take() else { return Ok(()) };
        // What it has left must not pile up from one start to the next.
        kill_tree(child.pid);
        let (status, usage) = reap(child.pid)?;
        let ended_ns = now_ns();
        let lived_ns = ended_ns - self.since_ns;
        self.since_ns = ended_ns;
        self.tally.cpu_ns += usage.user_ns + usage.system_ns;
        let expected = self.wanted.ready.workload.expect.as_ref().is_none_or(|codes| codes.contains(&status));
        let well = expected && status >= 0;
        if !well {
            self.tally.failures += 1;
            self.tally.status = Some(status);
        }
        self.tally.short += u64::from(lived_ns < SHORT_NS);
        if well && lived_ns >= SHORT_NS {
            (self.again_ns, self.pause_ns) = (ended_ns, PAUSE_NS);
        } else {
            self.pause();
        }
        Ok(())
    }

    /// Not at once, and each time later: nobody is helped by a program that is started without end.
    fn pause(&mut self) {
        self.again_ns = now_ns() + self.pause_ns;
        self.pause_ns = (2 * self.pause_ns).min(LONGEST_PAUSE_NS);
    }

    fn at_work(&self) -> bool {
        let used =
            || self.child.as_ref().and_then(|child| run_queue(child.pid)).map_or(0, |queue| queue.exec_ns);
        let waits = || {
            self.child.as_ref().and_then(|child| pid_stat(child.pid)).is_some_and(|stat| stat.state == "R")
        };
        let kept_ns = now_ns() - self.first_ns;
        self.tally.cpu_ns + used() >= AT_WORK_CPU_NS
            || kept_ns >= WAITED_NS
            || kept_ns >= AT_WORK_NS && !waits()
    }

    fn failed(&self) -> String {
        let how = match self.tally.status {
            Some(status) if status < 0 => format!("was ended by signal {}", -status),
            Some(status) => format!("ended with exit code {status}"),
            None => "could not be started again".to_owned(),
        };
        format!("The neighbour {} {how} before anything was run beside it.", self.wanted.ready.called())
    }
}

/// Whether a child has become its program. One that is gone has.
fn executed(pid: libc::pid_t) -> bool {
    // proc_pid_stat(5): field 9 has the flags.
    let flags: Option<u64> = pid_stat(pid).and_then(|stat| stat.at(9));
    flags.is_none_or(|flags| flags & FORK_NO_EXEC == 0)
}

fn pid_stat(pid: libc::pid_t) -> Option<PidStat> {
    PidStat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_become_its_program() {
        assert!(executed(std::process::id() as libc::pid_t));
        assert!(executed(i32::MAX));
    }

    #[test]
    fn the_state_of_a_process_is_read() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = child.id() as libc::pid_t;
        let mut status = 0;
        // SAFETY: our own child; the pointer is live.
        let stopped = unsafe {
            libc::kill(pid, libc::SIGSTOP);
            libc::waitpid(pid, &mut status, libc::WUNTRACED)
        };
        let state = pid_stat(pid).map(|stat| stat.state);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((stopped, state.as_deref()), (pid, Some("T")));
        assert!(pid_stat(i32::MAX).is_none());
    }
}
