//! The request `follow`: readings of a running process at intervals, until it ends or `stop` arrives.
//!
//! The process is held by its pidfd and by an open `/proc/PID`. Both refer to this process only, so that a
//! reused process id is never mistaken for it. Readings come as often as requested, as long as they take at
//! most a hundredth of one CPU; if the reader of the events is slow, readings are skipped and counted.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use becalm_core::exec::poll::{readable, reading, ready_within};
use becalm_core::exec::{clock_ns, now_ns};
use becalm_core::source::account::Account;
use becalm_core::source::pace::Pace;
use becalm_core::source::pid_stat::PidStat;
use becalm_core::source::process::{gone, Process};
use becalm_core::source::process_sums::ProcessSums;
use becalm_core::time::Clock;
use serde_json::{json, Value};

use crate::conversation::{Attention, Conversation};
use crate::protocol::Failure;
use crate::read::Reading;

/// The largest share of one CPU that following may take. It is larger than for a measured run, since a person
/// is watching.
const LARGEST_SHARE: f64 = 0.01;

/// The shortest time between two readings, ns.
const SHORTEST_NS: i64 = 10_000_000;

/// The parameters of the request.
pub struct Wish {
    pub id: u64,
    pub pid: i32,
    pub started: Option<u64>,
    pub period_ns: i64,
    /// Whether events include the load of the machine in the interval.
    pub load: bool,
    pub consumers: u32,
}

/// A held process: its id is not reused for lookups as long as this value lives.
pub struct Held {
    pidfd: OwnedFd,
    /// The open directory `/proc/PID`.
    directory: File,
}

impl Held {
    /// Return the path of the process's files, which refers to this process only.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.directory.as_raw_fd()).into()
    }

    /// Return the descriptor that becomes readable when the process ends.
    pub fn fd(&self) -> RawFd {
        self.pidfd.as_raw_fd()
    }

    pub fn ended(&self) -> io::Result<bool> {
        readable(self.pidfd.as_raw_fd())
    }
}

/// Follow a process; the machine's sources are below `root`.
///
/// # Errors
/// The inner error is a problem with the process, and the outer one a broken conversation.
pub fn follow(
    wish: &Wish,
    root: &Path,
    reading: &mut Reading,
    talk: &mut Conversation,
) -> io::Result<Result<Value, Failure>> {
    let mut following = match Following::new(wish, root, reading) {
        Ok(following) => following,
        Err(failure) => return Ok(Err(failure)),
    };
    following.go(talk)
}

struct Following<'a> {
    wish: &'a Wish,
    root: &'a Path,
    reading: &'a mut Reading,
    held: Held,
    process: Process,
    /// The kernel's sums over the whole process, where they are permitted.
    sums: Option<ProcessSums>,
    delays: bool,
    last: Account,
    readings: u64,
    /// Whether an account has been sent.
    sent: bool,
    /// The CPU time of this thread when following began, ns.
    begun_ns: i64,
}

impl<'a> Following<'a> {
    fn new(wish: &'a Wish, root: &'a Path, reading: &'a mut Reading) -> Result<Self, Failure> {
        if wish.period_ns < SHORTEST_NS {
            let message = format!(
                "A process is read every {} ms at most, not every {} ns. Ask for a longer interval.",
                SHORTEST_NS / 1_000_000,
                wish.period_ns
            );
            return Err(Failure::new("domain", message));
        }
        let begun_ns = reading.clock.cpu_ns();
        let held = hold(wish.pid)?;
        let delays =
            fs::read_to_string("/proc/sys/kernel/task_delayacct").is_ok_and(|text| text.trim() == "1");
        let mut process = Process::new(&held.path(), delays);
        // Where the kernel's sums are not available (another PID namespace), sums over the threads are used.
        let mut sums = ProcessSums::new(wish.pid).ok();
        let last = read(&mut process, &mut sums, delays).map_err(|error| unreadable(wish.pid, &error))?;
        if let Some(started) = wish.started.filter(|started| *started != last.started) {
            let message = format!(
                "Process {} is another one now: it began at tick {} of this boot, not at {started}. The one that was \
                 meant has ended.",
                wish.pid, last.started
            );
            return Err(Failure::new("not_found", message));
        }
        if last.state == "Z" {
            return Err(Failure::new("not_found", ended_before(wish.pid)));
        }
        if wish.load {
            // The first interval begins now.
            reading.load(root);
        }
        Ok(Self {
            wish,
            root,
            reading,
            held,
            process,
            sums,
            delays,
            last,
            readings: 1,
            sent: false,
            begun_ns,
        })
    }

    fn go(&mut self, talk: &mut Conversation) -> io::Result<Result<Value, Failure>> {
        self.send_account(talk, false, true, 0)?;
        let mut pace = Pace::new(now_ns(), self.wish.period_ns, LARGEST_SHARE);
        let (start, mut cost) = (self.spent_ns(), 0);
        let process = reading(self.held.pidfd.as_raw_fd());
        loop {
            let before = self.spent_ns();
            let due = pace.next(now_ns(), before - start, cost);
            // A stop may have arrived in the same read as the request, which polling would not report again.
            // No reading is taken before the previous one has been written.
            let mut stopped = talk.drain()? != Attention::Nothing;
            loop {
                let [input, signals, output] = talk.interests();
                let watched = [input, signals, output, process];
                if stopped || !ready_within(&watched, due - now_ns())? || self.held.ended()? {
                    break;
                }
                stopped = talk.attend()? != Attention::Nothing;
            }
            let ended = self.held.ended()?;
            // Only a zombie can be read after the end, and its parent may have reaped it already.
            let whole = match read(&mut self.process, &mut self.sums, self.delays) {
                Ok(account) => {
                    self.last = account;
                    self.readings += 1;
                    true
                }
                Err(error) if ended || gone(&error) => false,
                Err(error) => return Ok(Err(unreadable(self.wish.pid, &error))),
            };
            let over = ended || !whole || stopped;
            self.send_account(talk, ended || !whole, whole, pace.skipped)?;
            if over {
                return Ok(Ok(json!({
                    "ended": ended || !whole,
                    "whole": whole,
                    "readings": self.readings,
                    "skipped": pace.skipped,
                    "cost_ns": self.spent_ns() - self.begun_ns,
                })));
            }
            cost = self.spent_ns() - before;
        }
    }

    /// Return the CPU time of this thread, ns.
    fn spent_ns(&self) -> i64 {
        self.reading.clock.cpu_ns()
    }

    /// Send the last account, with the load of the machine in the interval.
    fn send_account(
        &mut self,
        talk: &mut Conversation,
        ended: bool,
        whole: bool,
        skipped: u64,
    ) -> io::Result<()> {
        let mut event = json!({
            "id": self.wish.id, "event": "followed", "at_ns": self.reading.clock.now_ns(), "process": self.last,
            "ended": ended, "whole": whole, "skipped": skipped, "cost_ns": self.spent_ns() - self.begun_ns,
        });
        if let (true, Value::Object(fields)) = (self.wish.load && self.sent, &mut event) {
            fields.extend(self.reading.load(self.root));
        }
        if self.wish.consumers > 0 {
            event["consumers"] = self.reading.consumers(self.root, self.wish.consumers);
        }
        self.sent = true;
        talk.output.send(&event)
    }
}

/// Read a process. The kernel's sums are used whenever they are available: mixing sources would make counts
/// decrease.
fn read(process: &mut Process, sums: &mut Option<ProcessSums>, delays: bool) -> io::Result<Account> {
    let mut account = process.read()?;
    if let Some(sums) = sums {
        if let Some(sums) = sums.read()? {
            account.complete(&sums, delays);
        }
    }
    account.doubt(u64::try_from(clock_ns(libc::CLOCK_BOOTTIME)).unwrap_or(u64::MAX), process.tick_ns());
    Ok(account)
}

/// Hold a process by its id.
pub fn hold(pid: i32) -> Result<Held, Failure> {
    if pid <= 0 {
        return Err(Failure::new("domain", format!("{pid} is not a process number. Numbers are above 0.")));
    }
    let path = format!("/proc/{pid}");
    let directory = File::open(&path).map_err(|error| unreadable(pid, &error))?;
    // SAFETY: no pointers; the result is checked before it is owned.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if pidfd < 0 {
        return Err(refused(pid, &path, &io::Error::last_os_error()));
    }
    // SAFETY: the descriptor is new and owned by nobody else.
    let held = Held { pidfd: unsafe { OwnedFd::from_raw_fd(pidfd as RawFd) }, directory };
    // The open directory refers to the process that had the id before pidfd_open. If it can still be read
    // afterwards, the pidfd refers to the same process.
    fs::read(held.path().join("stat")).map_err(|error| unreadable(pid, &error))?;
    Ok(held)
}

/// Return the failure of pidfd_open(2).
fn refused(pid: i32, path: &str, error: &io::Error) -> Failure {
    let leader = fs::read_to_string(format!("{path}/status")).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
        line.trim().parse::<i32>().ok().filter(|leader| *leader != pid)
    });
    match leader {
        Some(leader) => {
            let message =
                format!("{pid} is a thread of process {leader}. Follow the process: its threads are summed.");
            Failure::new("domain", message)
        }
        None if error.raw_os_error() == Some(libc::ENOSYS) => {
            Failure::new("unsupported", "Following a process needs pidfd_open, which Linux has from 5.3 on.")
        }
        None => unreadable(pid, error),
    }
}

fn unreadable(pid: i32, error: &io::Error) -> Failure {
    if gone(error) {
        let message =
            format!("There is no process {pid}, or it is hidden from this user (hidepid of /proc).");
        return Failure::new("not_found", message);
    }
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let message = format!("Process {pid} may not be looked at by this user. Run becalm as root.");
            Failure::new("permission", message)
        }
        _ => Failure::new("system", format!("Process {pid} cannot be read: {error}.")),
    }
}

fn ended_before(pid: i32) -> String {
    // The name is useful: a zombie hints at a parent that does not wait for its children.
    let name = fs::read(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|text| PidStat::parse(&text))
        .map(|stat| stat.name);
    format!(
        "Process {pid} ({}) has ended already; only its entry is left, until its parent asks for it.",
        name.unwrap_or_default()
    )
}
