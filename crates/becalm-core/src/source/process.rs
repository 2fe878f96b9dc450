//! One running process with all its threads: what they have run, waited and switched, as sums that never go backwards.
//!
//! `/proc/PID/stat` and `/proc/PID/io` count for the whole process, ended threads included (proc(5)). Time on the run
//! queue and switches are kept per thread (`/proc/PID/task/TID/schedstat`, `status`), and are lost with it: what a thread
//! was last seen with is kept here when it ends. What it did between that reading and its end, and threads that came and
//! went in between, are not in these sums; `user_ns` and `system_ns` have them, and show how much is missing.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::bytes::{lines, number, split_once, Words};
use crate::facts::read::refusal;
use crate::load::own::Delays;

/// What is summed over threads.
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
    /// Ticks since boot: a number that is used again belongs to another thread.
    started: u64,
    sums: Sums,
    /// In which reading it was last seen.
    seen: u64,
}

/// What a process has done since it began, as far as the kernel tells. None is unknown. Times of `*_ns` but `run_ns` and
/// `wait_ns` are whole ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    pub name: String,
    /// Letter of the kernel: R, S, D, T, Z, …
    pub state: String,
    /// When it began, ticks since the boot: with its number its identity.
    pub started: u64,
    pub threads: u64,
    /// Threads that have ended since it was first read.
    pub ended: u64,
    /// Time on a CPU of all threads that were seen, by the scheduler's clock.
    pub run_ns: Option<u64>,
    /// Time on the run queue, ready but not running.
    pub wait_ns: Option<u64>,
    pub slices: Option<u64>,
    /// Waiting for block devices: needs delay accounting.
    pub block_ns: Option<u64>,
    pub voluntary: Option<u64>,
    pub involuntary: Option<u64>,
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    pub resident_bytes: Option<u64>,
    /// From and to storage.
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
    /// By read(2), write(2) and the like, from wherever.
    pub read_calls: Option<u64>,
    pub write_calls: Option<u64>,
    pub read_characters: Option<u64>,
    pub written_characters: Option<u64>,
    /// The rest of delay accounting, where the kernel was asked for the process as a whole.
    pub swapin_ns: Option<u64>,
    pub reclaim_ns: Option<u64>,
    pub thrashing_ns: Option<u64>,
    pub compact_ns: Option<u64>,
    pub copy_ns: Option<u64>,
    /// Whether `run_ns` and the waits have every thread there ever was (taskstats), not only those that were seen.
    pub complete: bool,
    /// What could not be read, in words.
    pub missing: Vec<String>,
}

impl Account {
    /// Take the kernel's own sums over the process, ended threads included. `delays`: waits other than for a CPU are
    /// counted.
    pub fn complete(&mut self, sums: &Delays, delays: bool) {
        let counted = |name: &str| sums.value(name).filter(|_| delays);
        (self.run_ns, self.wait_ns) = (sums.value("exec_ns"), sums.value("wait_ns"));
        self.block_ns = counted("block_ns");
        self.swapin_ns = counted("swapin_ns");
        self.reclaim_ns = counted("reclaim_ns");
        self.thrashing_ns = counted("thrashing_ns");
        self.compact_ns = counted("compact_ns");
        self.copy_ns = counted("copy_ns");
        self.complete = true;
    }
}

/// A process that is read again and again.
pub struct Process {
    directory: PathBuf,
    threads: HashMap<u32, Thread>,
    gone: Sums,
    ended: u64,
    reading: u64,
    tick_ns: u64,
    page_bytes: u64,
    /// Whether the kernel counts waiting for block devices: then zero is zero.
    delays: bool,
}

impl Process {
    /// The process whose `/proc/PID` is this directory. `delays`: delay accounting is on.
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

    /// Read it. An error when it has gone.
    pub fn read(&mut self) -> io::Result<Account> {
        let stat = Stat::parse(&fs::read(self.directory.join("stat"))?)
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

    /// Sum over the threads there are, and those that were.
    fn sum(&mut self, account: &mut Account) -> io::Result<()> {
        self.reading += 1;
        let mut unknown = None;
        for entry in fs::read_dir(self.directory.join("task"))? {
            let entry = entry?;
            let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // A thread that ended between being listed and being read stays as it was last seen.
            if let Err(error) = self.thread(tid, &entry.path()) {
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

    fn thread(&mut self, tid: u32, path: &Path) -> io::Result<()> {
        let text = fs::read(path.join("schedstat"))?;
        let mut words = Words(lines(&text).next().unwrap_or(&text));
        let (Some(run_ns), Some(wait_ns), Some(slices)) = (words.number(), words.number(), words.number())
        else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds no three numbers"));
        };
        if let Some(known) = self.threads.get_mut(&tid) {
            let same =
                known.sums.run_ns == run_ns && known.sums.wait_ns == wait_ns && known.sums.slices == slices;
            // It has not run, so that nothing else of it has moved.
            if same {
                known.seen = self.reading;
                return Ok(());
            }
        }
        let stat = Stat::parse(&fs::read(path.join("stat"))?);
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

/// Whether the error says that there is no such thread or process any more: ESRCH from an open file, ENOENT else.
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

/// `/proc/PID/stat`: fields by the numbers that proc(5) gives them. The name may hold blanks and parentheses.
pub struct Stat {
    pub name: String,
    pub state: String,
    rest: Vec<Option<u64>>,
}

impl Stat {
    /// None when it is something else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')')?;
        let name = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
        let mut words = Words(text.get(close + 1..)?.trim_ascii());
        let state = String::from_utf8_lossy(words.next()?).into_owned();
        Some(Self { name, state, rest: words.map(number).collect() })
    }

    /// Field 4 and later; None when it is negative or not there.
    pub fn at(&self, field: usize) -> Option<u64> {
        *self.rest.get(field.checked_sub(4)?)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 10_000_000;

    struct Fake(PathBuf);

    impl Fake {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("becalm-process-{name}-{}", std::process::id()));
            fs::create_dir_all(root.join("task")).unwrap();
            let made = Self(root);
            made.stat("", 0);
            fs::write(
                made.0.join("io"),
                "rchar: 9\nwchar: 8\nsyscr: 3\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 0\n",
            )
            .unwrap();
            made
        }

        fn stat(&self, below: &str, started: u64) {
            let numbers: Vec<String> =
                (4..53).map(|field| if field == 22 { started } else { field }.to_string()).collect();
            fs::write(self.0.join(below).join("stat"), format!("7 (a) b) c) S {}\n", numbers.join(" ")))
                .unwrap();
        }

        fn thread(&self, tid: u32, started: u64, numbers: [u64; 3]) {
            let path = format!("task/{tid}");
            fs::create_dir_all(self.0.join(&path)).unwrap();
            self.stat(&path, started);
            let [run, wait, slices] = numbers;
            fs::write(self.0.join(&path).join("schedstat"), format!("{run} {wait} {slices}\n")).unwrap();
            let status =
                format!("Name:\tx\nvoluntary_ctxt_switches:\t{slices}\nnonvoluntary_ctxt_switches:\t1\n");
            fs::write(self.0.join(&path).join("status"), status).unwrap();
        }

        fn end(&self, tid: u32) {
            fs::remove_dir_all(self.0.join(format!("task/{tid}"))).unwrap();
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn sums_of_threads_that_come_and_go_never_go_backwards() {
        let fake = Fake::new("sums");
        let mut process = Process::new(&fake.0, true);
        fake.thread(7, 100, [1000, 10, 5]);
        fake.thread(8, 101, [2000, 20, 6]);
        let first = process.read().unwrap();
        assert_eq!((first.run_ns, first.wait_ns, first.ended), (Some(3000), Some(30), 0));
        fake.end(8);
        fake.thread(9, 102, [1, 1, 1]);
        let second = process.read().unwrap();
        assert_eq!((second.run_ns, second.wait_ns, second.ended), (Some(3001), Some(31), 1));
        assert_eq!((second.voluntary, second.involuntary), (Some(12), Some(3)));
        // Number 9 again, another thread, which has run for longer than the one before.
        fake.thread(9, 200, [50, 2, 3]);
        let third = process.read().unwrap();
        assert_eq!((third.run_ns, third.wait_ns, third.ended), (Some(3051), Some(33), 2));
        // The same without a start time that differs: it has fewer slices.
        fake.thread(9, 200, [60, 2, 2]);
        assert_eq!(process.read().unwrap().run_ns, Some(3111));
    }

    #[test]
    fn fields_of_the_whole_process() {
        let fake = Fake::new("fields");
        fake.thread(7, 0, [1, 2, 3]);
        let account = Process::new(&fake.0, true).read().unwrap();
        assert_eq!((account.name.as_str(), account.state.as_str()), ("a) b) c", "S"));
        assert_eq!((account.user_ns, account.system_ns), (Some(14 * TICK), Some(15 * TICK)));
        assert_eq!((account.minor_faults, account.major_faults, account.threads), (Some(10), Some(12), 20));
        assert_eq!(
            (account.read_bytes, account.written_bytes, account.read_calls),
            (Some(4096), Some(0), Some(3))
        );
        assert_eq!(account.block_ns, Some(42 * TICK));
        assert!(account.missing.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_said() {
        let fake = Fake::new("unknown");
        fake.thread(7, 0, [1, 2, 3]);
        fs::remove_file(fake.0.join("io")).unwrap();
        fs::write(fake.0.join("task/7/schedstat"), "0\n").unwrap();
        let account = Process::new(&fake.0, false).read().unwrap();
        assert_eq!((account.read_bytes, account.wait_ns, account.run_ns), (None, None, None));
        assert_eq!(account.missing.len(), 2, "{:?}", account.missing);
    }

    #[test]
    fn a_process_that_has_gone_is_an_error_and_a_thread_that_has_is_none() {
        let fake = Fake::new("gone");
        fake.thread(7, 0, [1, 2, 3]);
        fs::create_dir_all(fake.0.join("task/8")).unwrap();
        let mut process = Process::new(&fake.0, false);
        assert_eq!(process.read().unwrap().run_ns, Some(1), "8 ended while it was read");
        fs::remove_file(fake.0.join("stat")).unwrap();
        assert!(gone(&process.read().unwrap_err()));
    }

    #[test]
    fn blocking_is_unknown_without_delay_accounting() {
        let fake = Fake::new("delays");
        fake.thread(7, 0, [1, 2, 3]);
        let zero: Vec<String> = (4..53).map(|_| "0".to_owned()).collect();
        fs::write(fake.0.join("task/7/stat"), format!("7 (x) S {}\n", zero.join(" "))).unwrap();
        assert_eq!(Process::new(&fake.0, false).read().unwrap().block_ns, None);
        assert_eq!(Process::new(&fake.0, true).read().unwrap().block_ns, Some(0));
    }

    #[test]
    fn this_process_is_read() {
        let account = Process::new(Path::new("/proc/self"), false).read().unwrap();
        assert!(account.threads >= 1 && account.started > 0 && account.resident_bytes > Some(0));
    }
}
