//! A load from its start to its end: start the processes, wait, end them, and count their work.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::time::Instant;

use super::board::{Board, Slot};
use super::demand::Demand;
use super::group::Group;
use super::job::LoadError;
use super::report::{Ended, Reason, Report, Share};
use super::room::Room;
use super::{jobs, worker, KINDS};
use crate::exec::account::decode;
use crate::exec::{end_with, now_ns};

/// The time between two checks whether the load is up, ns.
const LOOK_NS: i64 = 5_000_000;

/// Generate load for `time_ns` from now, while `command` runs, or until a signal. `started` is called when
/// all of the load is up; the time includes that.
///
/// Blocks SIGTERM, SIGINT, SIGHUP and SIGCHLD for this process, which must have a single thread. SIGINT does
/// not end a command's load: the terminal has sent it to the command too. SIGTERM and SIGHUP end the load at
/// once and are passed on to the command, whose end is waited for. When this process is killed, the command is,
/// too, but not what it has started.
pub fn run(
    demand: &Demand,
    time_ns: Option<i64>,
    command: Option<Command>,
    started: impl FnOnce(),
) -> Result<Report, LoadError> {
    let deadline_ns = time_ns.map(|time| now_ns().saturating_add(time));
    demand.check(&Room::here())?;
    let jobs = jobs(demand)?;
    let signals = Signals::block().map_err(system("Signals cannot be blocked"))?;
    let limit = jobs.iter().filter_map(|job| job.limit_bytes).max();
    // It is declared before the processes, so that it is dropped after them.
    let group = limit.map(Group::make).transpose()?;
    let asked: Vec<(&'static str, Option<f64>)> = jobs.iter().map(|job| (job.kind, job.asked)).collect();
    let board = Board::new(jobs.len()).map_err(system("Memory cannot be shared"))?;
    let mut crew = Crew { slots: board.slots(), failure: None, stopped: None };
    worker::start(jobs, crew.slots, demand, group.as_ref().map(|group| group.directory.as_path()))?;
    let up = crew.until_up(&signals, deadline_ns)?;
    let before: Vec<Counts> = crew.slots.iter().map(Counts::of).collect();
    let (swapped, begin) = (swapped_out(), Instant::now());
    let mut report = Report { demand: demand.clone(), ..Report::default() };
    if up {
        started();
        (report.reason, report.command) = crew.wait(&signals, deadline_ns, command)?;
    }
    report.wall_ns = crew.stopped.unwrap_or_else(Instant::now).duration_since(begin).as_nanos() as u64;
    report.swapped_out_bytes = swapped_out().zip(swapped).map(|(now, then)| now.saturating_sub(then));
    let after = crew.end();
    for (((kind, asked), then), now) in asked.into_iter().zip(before).zip(after) {
        let unit = KINDS.iter().find(|row| row.name == kind).map_or("", |row| row.unit);
        let moved = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        report.shares.push(Share {
            kind,
            unit,
            asked,
            done: now.done - then.done,
            cpu_ns: moved(now.cpu_ns, then.cpu_ns),
            wait_ns: moved(now.wait_ns, then.wait_ns),
        });
    }
    report.failure = crew.failure.take();
    Ok(report)
}

fn system(what: &'static str) -> impl Fn(io::Error) -> LoadError {
    move |error| LoadError::Machine(format!("{what}: {error}."))
}

/// The started processes; those that are left are killed when this is dropped.
struct Crew<'a> {
    slots: &'a [Slot],
    /// The reason why one of them ended by itself.
    failure: Option<String>,
    /// The time when a signal ended the load before its command.
    stopped: Option<Instant>,
}

impl Crew<'_> {
    /// Wait until all load is up; return false when a signal came first.
    fn until_up(&mut self, signals: &Signals, deadline_ns: Option<i64>) -> Result<bool, LoadError> {
        loop {
            if deadline_ns.is_some_and(|deadline| deadline <= now_ns()) {
                return Err(LoadError::Machine(
                    "The time was over before all of the load was up. Allow a longer time, or ask for less load.".into(),
                ));
            }
            if self.slots.iter().all(Slot::is_ready) {
                return Ok(true);
            }
            match signals.next(Some(LOOK_NS)) {
                Some(libc::SIGCHLD) => {
                    self.reap();
                    if let Some(failure) = self.failure.take() {
                        return Err(LoadError::Machine(failure));
                    }
                }
                Some(_) => return Ok(false),
                None => {}
            }
        }
    }

    fn wait(
        &mut self,
        signals: &Signals,
        deadline_ns: Option<i64>,
        command: Option<Command>,
    ) -> Result<(Reason, Option<Ended>), LoadError> {
        let begin_ns = now_ns();
        let mut running = match command {
            None => None,
            Some(mut command) => {
                let name = command.get_program().to_string_lossy().into_owned();
                // SAFETY: cannot fail.
                let own = unsafe { libc::getpid() };
                // SAFETY: system calls on values of their own, between fork and exec.
                unsafe { command.pre_exec(move || prepare(own)) };
                let started = command.spawn();
                Some(
                    started
                        .map_err(|error| LoadError::Machine(format!("{name} cannot be started: {error}.")))?,
                )
            }
        };
        let pid = running.as_ref().map(|child| child.id() as libc::pid_t);
        loop {
            let left = deadline_ns.map(|deadline| deadline - now_ns());
            if left.is_some_and(|left| left <= 0) {
                return Ok((Reason::Time, None));
            }
            match (signals.next(left), pid) {
                (Some(libc::SIGCHLD), _) => {
                    if let Some(child) = &mut running {
                        let ended = child.try_wait().map_err(system("The command cannot be waited for"))?;
                        if let Some(status) = ended {
                            let wall_ns = (now_ns() - begin_ns) as u64;
                            let status = decode(status.into_raw());
                            return Ok((Reason::Command, Some(Ended { status, wall_ns })));
                        }
                    }
                    self.reap();
                    if self.failure.is_some() && running.is_none() {
                        return Ok((Reason::Failure, None));
                    }
                }
                (Some(libc::SIGINT), Some(_)) | (None, _) => {}
                (Some(signal), Some(pid)) => {
                    self.stop();
                    // SAFETY: our own child, not yet reaped.
                    unsafe { libc::kill(pid, signal) };
                }
                (Some(_), None) => return Ok((Reason::Signal, None)),
            }
        }
    }

    /// Find the processes that have ended by themselves. They are not reaped, so that their work can be
    /// counted.
    fn reap(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        for slot in self.slots {
            if self.failure.is_none() && ended(slot.pid(), libc::WNOHANG) {
                let message = slot.message();
                self.failure = Some(if message.is_empty() {
                    "A process of the load was killed: by the kernel for want of memory or swap, or by somebody.".into()
                } else {
                    message
                });
            }
        }
    }

    /// End all, and count the work of each.
    fn end(&mut self) -> Vec<Counts> {
        self.kill();
        let counts = |slot: &Slot| {
            ended(slot.pid(), 0);
            Counts::of(slot)
        };
        self.slots.iter().map(counts).collect()
    }

    /// End all of the load now, and continue to wait for the command.
    fn stop(&mut self) {
        self.stopped.get_or_insert_with(Instant::now);
        self.kill();
    }

    fn kill(&self) {
        for pid in self.slots.iter().map(Slot::pid).filter(|pid| *pid > 0) {
            // SAFETY: our own child, reaped only when this goes.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.kill();
        for pid in self.slots.iter().map(Slot::pid).filter(|pid| *pid > 0) {
            // SAFETY: the status is not asked for.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
    }
}

/// Wait for a child's end, or check whether it has ended, and leave it to be read and reaped later.
fn ended(pid: libc::pid_t, flags: i32) -> bool {
    // SAFETY: an all-zero siginfo is valid, and says with pid 0 that nobody has ended.
    unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOWAIT | flags;
        pid > 0 && libc::waitid(libc::P_PID, pid as libc::id_t, &mut about, flags) == 0 && about.si_pid() != 0
    }
}

/// The work of one process so far.
struct Counts {
    done: u64,
    cpu_ns: Option<u64>,
    wait_ns: Option<u64>,
}

impl Counts {
    /// Read the board, and the first two fields of `/proc/PID/schedstat`: time run and time waited on a run
    /// queue, ns.
    fn of(slot: &Slot) -> Self {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", slot.pid())).unwrap_or_default();
        let mut fields = text.split_ascii_whitespace().map(|word| word.parse().ok());
        let (cpu_ns, wait_ns) = (fields.next().flatten(), fields.next().flatten());
        Self { done: slot.done(), cpu_ns, wait_ns }
    }
}

/// Return the bytes that the whole machine has swapped out since its start, zswap included.
fn swapped_out() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    // SAFETY: no pointers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    Some((field("pswpout")? + field("zswpout").unwrap_or(0)) * page)
}

/// Have this process, which becomes the command, be killed when the load is.
fn prepare(load: libc::pid_t) -> io::Result<()> {
    unblock()?;
    match end_with(load, libc::SIGKILL) {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

/// Unblock all signals: a command would inherit the blocked ones.
fn unblock() -> io::Result<()> {
    // SAFETY: an all-zero set becomes an empty one before it is used.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        match libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The signals that are waited for instead of being delivered.
struct Signals(libc::sigset_t);

impl Signals {
    fn block() -> io::Result<Self> {
        // SAFETY: an all-zero set becomes an empty one before it is used.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD] {
                libc::sigaddset(&mut set, signal);
            }
            match libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) {
                0 => Ok(Self(set)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Return the next signal, or None when none came within `wait_ns`.
    fn next(&self, wait_ns: Option<i64>) -> Option<i32> {
        // Without a limit this is an hour, after which the caller asks again.
        let ns = wait_ns.unwrap_or(3_600_000_000_000);
        let time = libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        // SAFETY: live pointers; no siginfo is asked for.
        let signal = unsafe { libc::sigtimedwait(&self.0, std::ptr::null_mut(), &time) };
        (signal > 0).then_some(signal)
    }
}
