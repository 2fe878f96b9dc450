//! The process that keeps neighbours running: it starts them, restarts them when they end, and finally ends
//! them all.
//!
//! It ends on SIGTERM, from the agent or, if that was killed, from the kernel. If it is killed itself, its
//! children get SIGKILL (PR_SET_PDEATHSIG), and the agent inherits and ends what they have started.

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

/// The shortest lifetime of a steady neighbour, ns: below it, most of the time is that of starting the
/// program.
pub const SHORT_NS: i64 = 1_000_000;

/// The first pause before a neighbour that was short or failed is restarted, ns; it doubles each time.
const PAUSE_NS: i64 = 1_000_000;
/// The longest such pause, ns.
const LONGEST_PAUSE_NS: i64 = 100_000_000;

/// The CPU time after which a neighbour is at work, ns.
const AT_WORK_CPU_NS: i64 = 5_000_000;

/// The time after which a neighbour is at work if it waits for no CPU and no disk, ns: it may sleep, or its
/// children do the work.
const AT_WORK_NS: i64 = 100_000_000;

/// The longest wait for a neighbour to be at work, ns.
const WAITED_NS: i64 = 10_000_000_000;

/// The longest time of the system calls between clone and exec, ns.
const PATIENCE_NS: i64 = 10_000_000_000;

const LOOK_NS: i64 = 200_000;

/// The flag PF_FORKNOEXEC (include/linux/sched.h): the process has not called exec yet.
const FORK_NO_EXEC: u64 = 0x40;

/// The totals of a neighbour in one run or in a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The number of times it ended and was restarted.
    pub restarts: u64,
    /// The number of times it ended in an unexpected way.
    pub failures: u64,
    /// The exit code of the last unexpected end, or minus the signal.
    pub status: Option<i32>,
    /// The number of times it lived for less than `SHORT_NS`.
    pub short: u64,
    /// The CPU time of the neighbour and of all children that it waited for, ns.
    pub cpu_ns: i64,
    /// The time for which it was kept running, ns.
    pub kept_ns: i64,
    /// The part of that time between an end and the next start, ns.
    pub away_ns: i64,
}

impl Tally {
    /// Add the totals of another run.
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

/// Keep the neighbours running until SIGTERM, report in lines of JSON when they are at work and their totals,
/// and return the exit code.
pub fn run(mut report: File, wanted: &[ReadyNeighbour], base: &BaseEnvironment) -> i32 {
    let mut event = Starter::new(wanted, base).map_err(|error| cannot(&error)).and_then(|mut starter| {
        let up = starter.start_all();
        if up.is_ok() {
            write_event(&mut report, &json!({"event": "started"}));
            starter.wait_for_end();
        }
        let did = starter.end();
        up.map(|()| json!({"event": "done", "neighbours": did}))
    });
    if let Err(message) = &event {
        event = Ok(json!({"event": "error", "message": message}));
    }
    write_event(&mut report, &event.unwrap_or_default());
    0
}

fn write_event(report: &mut File, value: &serde_json::Value) {
    // A closed report is ignored.
    let _ = report.write_all(format!("{value}\n").as_bytes());
}

fn cannot(error: &io::Error) -> String {
    format!("Neighbours cannot run on this machine: {error}.")
}

/// The process's state: all neighbours, and what is needed to start them.
struct Starter<'a> {
    spawner: Spawner,
    null: File,
    signals: OwnedFd,
    base: &'a BaseEnvironment,
    all: Vec<Kept<'a>>,
}

/// A neighbour. `since_ns` is when it began, or, without a child, when it ended.
struct Kept<'a> {
    wanted: &'a ReadyNeighbour,
    child: Option<Child>,
    first_ns: i64,
    since_ns: i64,
    again_ns: i64,
    pause_ns: i64,
    tally: Tally,
}

impl<'a> Starter<'a> {
    fn new(wanted: &'a [ReadyNeighbour], base: &'a BaseEnvironment) -> io::Result<Self> {
        adopt_orphans()?;
        let signals = signals()?;
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
            signals,
            base,
            all: wanted.iter().map(one).collect(),
        })
    }

    /// Start all neighbours, and wait until each is at work.
    ///
    /// # Errors
    /// Returns a sentence about one of them.
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

    /// Restart neighbours whenever they end, until an end is requested.
    fn wait_for_end(&mut self) {
        while !self.over() {
            let next_ns = self.all.iter().filter(|kept| kept.child.is_none()).map(|kept| kept.again_ns).min();
            if self.wait(next_ns).is_err() {
                return;
            }
        }
    }

    /// Wait until a neighbour ends, a time is reached or an end is requested, and restart those that are due.
    fn wait(&mut self, until_ns: Option<i64>) -> io::Result<()> {
        let ends = self
            .all
            .iter()
            .map(|kept| kept.child.as_ref().map_or(NOTHING, |child| reading(child.pidfd.as_raw_fd())));
        let mut polls: Vec<_> = ends.chain([reading(self.signals.as_raw_fd())]).collect();
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

    /// Start a neighbour, and wait until it has called exec: then the spawner's memory is free for the next.
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

    /// Return whether an end is requested. The signal stays unread, so that the result stays true.
    fn over(&self) -> bool {
        readable(self.signals.as_raw_fd()).unwrap_or(true)
    }

    /// End all neighbours with everything they have started, and return their totals.
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
            // One that hangs in the kernel is left to the sweep, which does not wait for ever.
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
    /// Handle the end of the neighbour, and decide when it is restarted.
    fn ended(&mut self) -> io::Result<()> {
        let Some(child) = self.child.take() else { return Ok(()) };
        // Processes that it left must not accumulate from one start to the next.
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

    /// Delay the next start, longer each time: restarting a failing program without end is useless.
    fn pause(&mut self) {
        self.again_ns = now_ns() + self.pause_ns;
        self.pause_ns = (2 * self.pause_ns).min(LONGEST_PAUSE_NS);
    }

    fn at_work(&self) -> bool {
        let used =
            || self.child.as_ref().and_then(|child| run_queue(child.pid)).map_or(0, |queue| queue.exec_ns);
        let waits = || {
            let stat = self.child.as_ref().and_then(|child| pid_stat(child.pid));
            stat.is_some_and(|stat| ["R", "D"].contains(&stat.state.as_str()))
        };
        let kept_ns = now_ns() - self.first_ns;
        let works = self.tally.cpu_ns + used() >= AT_WORK_CPU_NS
            || kept_ns >= WAITED_NS
            || kept_ns >= AT_WORK_NS && !waits();
        // Asked last, because one that has ended meanwhile waits for nothing. It is reaped first, so that its failure is
        // reported.
        works && !self.child.as_ref().is_some_and(|child| readable(child.pidfd.as_raw_fd()).unwrap_or(false))
    }

    fn failed(&self) -> String {
        let how = match self.tally.status {
            Some(status) if status < 0 => format!("was ended by signal {}", -status),
            Some(status) => format!("ended with exit code {status}"),
            None => "could not be started again".to_owned(),
        };
        format!("The neighbour {} {how} before anything was run next to it.", self.wanted.ready.called())
    }
}

/// Return whether a child has called exec. One that has ended counts as such.
fn executed(pid: libc::pid_t) -> bool {
    // The flags are field 9 of proc_pid_stat(5).
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
