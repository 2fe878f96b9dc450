//! One running process with all its threads: its times, waits and switches, as sums that never decrease.
//!
//! `/proc/PID/stat` and `/proc/PID/io` count for the whole process, ended threads included (proc(5)). The
//! time on the run queue and the switches are counted per thread (`/proc/PID/task/TID/schedstat`, `status`),
//! and are lost with it: the values of a thread at the last reading are stored here when it ends. What it did
//! between that reading and its end, and threads that came and went in between, are not in these sums;
//! `user_ns` and `system_ns` include them, and show how much is missing.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use becalm_settings::task::whole_listing;

use super::account::Account;
use super::bytes::{lines, number, split_once, Words};
use super::pid_stat::PidStat;
use crate::refusal::refusal;

/// The sums over threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    run_ns: u64,
    wait_ns: u64,
    slices: u64,
    block_ticks: u64,
    voluntary: u64,
    involuntary: u64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.run_ns += other.run_ns;
        self.wait_ns += other.wait_ns;
        self.slices += other.slices;
        self.block_ticks += other.block_ticks;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
    }
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    /// Its start in ticks since boot: a reused number belongs to another thread.
    started: u64,
    sums: Sums,
    /// The number of the last reading that found it.
    seen: u64,
}

/// Return the threads of the process whose `/proc/PID` is this directory, ascending.
pub fn thread_ids(directory: &Path) -> io::Result<Vec<i32>> {
    whole_listing(|| {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory.join("task"))? {
            found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
        }
        found.sort_unstable();
        Ok(found)
    })
}

/// A process that is read repeatedly.
pub struct Process {
    directory: PathBuf,
    threads: HashMap<i32, Thread>,
    gone: Sums,
    ended: u64,
    reading: u64,
    tick_ns: u64,
    page_bytes: u64,
    /// Whether the kernel counts waiting for block devices, so that zero means no wait.
    delays: bool,
}

impl Process {
    /// Use the process whose `/proc/PID` is this directory. `delays`: delay accounting is on.
    pub fn new(directory: &Path, delays: bool) -> Self {
        // SAFETY: no pointers.
        let (ticks, page) = unsafe { (libc::sysconf(libc::_SC_CLK_TCK), libc::sysconf(libc::_SC_PAGESIZE)) };
        Self {
            directory: directory.to_owned(),
            threads: HashMap::new(),
            gone: Sums::default(),
            ended: 0,
            reading: 0,
            tick_ns: 1_000_000_000 / u64::try_from(ticks).unwrap_or(100).max(1),
            page_bytes: u64::try_from(page).unwrap_or(4096),
            delays,
        }
    }

    /// Return the unit of an account's `started`, ns.
    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Read the account. An error when the process has gone.
    pub fn read(&mut self) -> io::Result<Account> {
        let stat = PidStat::parse(&fs::read(self.directory.join("stat"))?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its stat file is not understood"))?;
        let mut account = Account {
            name: stat.name.clone(),
            state: stat.state.clone(),
            started: stat.at(22).unwrap_or(0),
            threads: stat.at(20).unwrap_or(0),
            user_ns: stat.at(14).map(|ticks| ticks * self.tick_ns),
            system_ns: stat.at(15).map(|ticks| ticks * self.tick_ns),
            minor_faults: stat.at(10),
            major_faults: stat.at(12),
            resident_bytes: stat.at(24).map(|pages| pages * self.page_bytes),
            ..Account::default()
        };
        self.io(&mut account);
        self.sum(&mut account)?;
        Ok(account)
    }

    fn io(&self, account: &mut Account) {
        let text = match fs::read(self.directory.join("io")) {
            Ok(text) => text,
            Err(error) => return account.missing.push(refusal("proc/PID/io", &error)),
        };
        for line in lines(&text) {
            let Some((name, value)) = split_once(line, b':') else { continue };
            let value = number(value.trim_ascii());
            match name {
                b"rchar" => account.read_characters = value,
                b"wchar" => account.written_characters = value,
                b"syscr" => account.read_calls = value,
                b"syscw" => account.write_calls = value,
                b"read_bytes" => account.read_bytes = value,
                b"write_bytes" => account.written_bytes = value,
                _ => {}
            }
        }
    }

    /// Sum over the live threads, and those that have ended.
    fn sum(&mut self, account: &mut Account) -> io::Result<()> {
        self.reading += 1;
        let mut unknown = None;
        for tid in thread_ids(&self.directory)? {
            // A thread that ended after it was listed stays as it was last seen.
            if let Err(error) = self.thread(tid, &self.directory.join(format!("task/{tid}"))) {
                if !gone(&error) {
                    unknown = Some(refusal("proc/PID/task/TID/schedstat", &error));
                }
            }
        }
        let reading = self.reading;
        let (sums, ended) = (&mut self.gone, &mut self.ended);
        self.threads.retain(|_, thread| {
            let here = thread.seen == reading;
            if !here {
                sums.add(&thread.sums);
                *ended += 1;
            }
            here
        });
        account.ended = self.ended;
        if let Some(reason) = unknown {
            account.missing.push(reason);
            return Ok(());
        }
        let mut all = self.gone;
        self.threads.values().for_each(|thread| all.add(&thread.sums));
        account.run_ns = Some(all.run_ns);
        account.wait_ns = Some(all.wait_ns);
        account.slices = Some(all.slices);
        account.voluntary = Some(all.voluntary);
        account.involuntary = Some(all.involuntary);
        account.block_ns = (self.delays || all.block_ticks > 0).then_some(all.block_ticks * self.tick_ns);
        Ok(())
    }

    fn thread(&mut self, tid: i32, path: &Path) -> io::Result<()> {
        let text = fs::read(path.join("schedstat"))?;
        let mut words = Words(lines(&text).next().unwrap_or(&text));
        let (Some(run_ns), Some(wait_ns), Some(slices)) = (words.number(), words.number(), words.number())
        else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds no three numbers"));
        };
        if let Some(known) = self.threads.get_mut(&tid) {
            let same =
                known.sums.run_ns == run_ns && known.sums.wait_ns == wait_ns && known.sums.slices == slices;
            // The thread has not run, so nothing else of it has changed.
            if same {
                known.seen = self.reading;
                return Ok(());
            }
        }
        let stat = PidStat::parse(&fs::read(path.join("stat"))?);
        let started = stat.as_ref().and_then(|stat| stat.at(22)).unwrap_or(0);
        let (voluntary, involuntary) = switches(&fs::read(path.join("status"))?);
        let sums = Sums {
            run_ns,
            wait_ns,
            slices,
            block_ticks: stat.and_then(|stat| stat.at(42)).unwrap_or(0),
            voluntary,
            involuntary,
        };
        let now = Thread { started, sums, seen: self.reading };
        if let Some(before) = self.threads.insert(tid, now) {
            if before.started != started || sums.slices < before.sums.slices {
                self.gone.add(&before.sums);
                self.ended += 1;
            }
        }
        Ok(())
    }
}

/// Return whether the error means that the thread or process does not exist any more: ESRCH from an open
/// file, else ENOENT.
pub fn gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENOENT))
}

fn switches(status: &[u8]) -> (u64, u64) {
    let find = |name: &[u8]| {
        let value = lines(status).find_map(|line| line.strip_prefix(name))?;
        number(value.trim_ascii())
    };
    (find(b"voluntary_ctxt_switches:").unwrap_or(0), find(b"nonvoluntary_ctxt_switches:").unwrap_or(0))
}
