//! What else the machine did while runs took place: snapshots before and after, samples in between, records of both.
//!
//! `session` begins and ends a block; `measure` says when a run is about to start, goes on, has ended. `probe` reads the
//! machine, a `record` gathers what comes to a load. Nothing is read within a run's timed window by this thread, except
//! once a second in long runs. The sampler is the only other thread of the agent; `alone` ends it, since a process that
//! is forked for good must have one thread alone.

use std::collections::BTreeMap;
use std::path::Path;

use becalm_core::exec::account::RunQueue;
use becalm_core::load::counted::{beginnings, SOURCES};
use becalm_core::load::digest::Digest;
use becalm_core::load::exit::Exit;
use becalm_core::load::machine::Digests;
use becalm_core::load::own::Own;
use becalm_core::load::own_cpus::{allowed, Cpu};
use becalm_core::source::file::Place;
use becalm_core::source::group::Around;
use becalm_core::source::interface::Rows;
use becalm_core::source::pace::LARGEST_SHARE;
use becalm_core::source::perf_events::Pair;
use becalm_core::source::sampler::Sampler;
use becalm_core::source::snapshot::Snapshot;
use becalm_core::time::{AnyClock, Clock};
use becalm_core::types::Usage;

use crate::accounts::{with_usage, Accounts};
use crate::output::Output;
use crate::probe::Probe;
use crate::protocol::Wanted;
use crate::record::Record;
use crate::series::Samples;

/// A record covers runs until so much time has passed since it began.
const LEAST_NS: i64 = 100_000_000;

/// And so many times what a snapshot takes, which matters where that is more than a millisecond: on large machines.
/// Snapshots are taken between runs; within a run's time there is the sampler alone.
const SHARE: i64 = 100;

/// The end of one record is the beginning of the next when the next run starts that soon.
const GAP_NS: i64 = 2_000_000;

/// Time between samples, ns.
const PERIOD_NS: i64 = 100_000_000;

/// Largest share of one CPU that sampling the run queue alone may take: snapshots need the rest of the thousandth.
const QUEUE_SHARE: f64 = LARGEST_SHARE * 0.3;

/// The same for a series: a quarter is left for reading at both ends.
const SERIES_SHARE: f64 = LARGEST_SHARE * 0.75;

/// Samples that the sampler keeps until they are fetched, which is once a second or more often.
const ROOM: usize = 256;

/// How often a long run is looked after, ns.
pub const LOOK_NS: i64 = 1_000_000_000;

/// A group for programs, or why there is none.
pub type Made = (Around, Option<String>);

/// Makes the records of a conversation.
pub struct Observer {
    place: Place,
    epoch_ns: i64,
    wanted: Wanted,
    /// The process that starts programs, and what is counted of these.
    counted: (i32, Pair),
    probe: Probe,
    accounts: Option<Accounts>,
    around: Option<Around>,
    /// What was made before anybody asked to observe.
    made: Option<Made>,
    /// Whether the next program stays in the group of its own.
    stays: bool,
    sampler: Option<(Wanted, Sampler)>,
    open: Option<Record>,
    /// The end of the last record, and the activity of each CPU by then.
    last: Option<(Digest, Vec<Cpu>)>,
    /// CPU time that this thread has spent on observing, ns.
    spent_ns: i64,
    /// Why columns of this block were unknown.
    unknown: BTreeMap<&'static str, String>,
}

impl Observer {
    /// Observe the machine below a root, on a clock and its Unix time minus monotonic time. `counted`: the process that
    /// starts programs, and the events that are counted of these; `made`: before that process was.
    ///
    /// On a scripted clock nothing is sampled meanwhile, and the kernel is not asked about programs.
    pub fn new(
        root: &Path,
        (clock, epoch_ns): (&AnyClock, i64),
        counted: (i32, Pair),
        made: Option<Made>,
    ) -> Self {
        let place = Place::new(root).brief(beginnings).on(clock);
        Self {
            probe: Probe::new(place.clone()),
            place,
            epoch_ns,
            wanted: Wanted::None,
            counted,
            accounts: None,
            around: None,
            made,
            stays: false,
            sampler: None,
            open: None,
            last: None,
            spent_ns: 0,
            unknown: BTreeMap::new(),
        }
    }

    /// A block begins.
    pub fn begin(&mut self, wanted: Wanted) {
        self.wanted = wanted;
        self.unknown.clear();
        (self.open, self.last) = (None, None);
        if wanted != Wanted::None && !self.scripted() {
            let (starter, pair) = self.counted;
            self.accounts.get_or_insert_with(|| Accounts::open(starter, pair)).block();
        } else {
            self.rest();
        }
    }

    /// Have a control group for the programs, where one can be made. Only once.
    pub fn make_group(&mut self) {
        if self.wanted == Wanted::None || self.around.is_some() || self.scripted() {
            return;
        }
        let (mut around, why) = self.made.take().unwrap_or_else(|| Around::new(&self.place));
        let why = why.or(around.take_in(self.counted.0).err());
        if let (Some(why), Some(accounts)) = (why, &mut self.accounts) {
            accounts.reasons.push(("group", why));
        }
        self.around = Some(around);
    }

    /// The next program joins another group, which its settings ask for, or none.
    pub fn placed(&mut self, elsewhere: bool) {
        self.stays = !elsewhere && self.around.as_ref().is_some_and(Around::has_own);
    }

    /// The block is over: its last record, and why columns were unknown in it.
    pub fn end(&mut self, output: &mut Output) -> BTreeMap<&'static str, String> {
        self.close(output);
        if let Some((_, sampler)) = &self.sampler {
            sampler.pause();
        }
        self.wanted = Wanted::None;
        let mut unknown = std::mem::take(&mut self.unknown);
        if let Some(accounts) = &self.accounts {
            unknown.extend(accounts.reasons.iter().cloned());
        }
        unknown
    }

    /// Have no other thread, until the next run.
    pub fn alone(&mut self) {
        self.sampler = None;
    }

    /// Disturb nobody until the next run that is to be observed.
    pub fn rest(&mut self) {
        self.alone();
        if let Some(accounts) = &mut self.accounts {
            accounts.hush();
        }
    }

    /// A run is about to start.
    pub fn before(&mut self, seq: u64) {
        if self.wanted == Wanted::None {
            return;
        }
        if !self.scripted() {
            self.sample();
        }
        if self.open.is_none() {
            let now_ns = self.place.clock.now_ns();
            let fresh = self.last.take().filter(|(last, _)| now_ns - last.at_ns() < GAP_NS);
            let spent_ns = self.cost_ns();
            if let Some(accounts) = &mut self.accounts {
                accounts.record();
            }
            // Before the machine is read: looking at all processes takes a while.
            let account = self.sampler.as_ref().map(|(_, sampler)| sampler.account());
            let series = Samples::new(&self.place, self.wanted == Wanted::Series, account);
            let around = self.around.as_mut().map(Around::read).unwrap_or_default();
            let (begin, cpus) = fresh.unwrap_or_else(|| self.read());
            self.open = Some(Record::new(seq, (begin, cpus, around), spent_ns, series));
        }
        if let Some(open) = &mut self.open {
            open.joined &= self.stays;
        }
        if let Some(accounts) = &mut self.accounts {
            accounts.begin();
        }
    }

    /// Whether a long run wants to be looked after.
    pub fn looks(&self) -> bool {
        self.wanted != Wanted::None
    }

    /// Whether samples of its runs are told, over time.
    pub fn draws(&self) -> bool {
        self.wanted == Wanted::Series
    }

    /// A run goes on: fetch what would not fit in the end.
    pub fn look(&mut self) {
        let begun = self.place.clock.cpu_ns();
        if let Some(accounts) = &mut self.accounts {
            accounts.look();
        }
        self.fetch(i64::MAX);
        self.spent_ns += self.place.clock.cpu_ns() - begun;
    }

    /// A program has ended and was not reaped yet: what is known of it, to be given to `reaped`, and its end by the
    /// kernel's record. `queue`: since its time began; `early`: what it had run and waited before.
    pub fn ended(
        &mut self,
        pid: i32,
        queue: Option<RunQueue>,
        early: RunQueue,
    ) -> (Option<Own>, Option<Exit>) {
        let (Some(accounts), Some(open)) = (&mut self.accounts, &mut self.open) else { return (None, None) };
        let begun = self.place.clock.cpu_ns();
        // First: what is told of its end is the better the sooner it is asked for.
        let (own, exit) = accounts.ended(pid as u32, queue, early);
        open.shared.join(allowed(pid));
        self.spent_ns += self.place.clock.cpu_ns() - begun;
        (Some(own), exit)
    }

    /// It was reaped.
    pub fn reaped(&mut self, own: Option<Own>, usage: &Usage) {
        if let (Some(open), Some(own)) = (&mut self.open, own) {
            let cpu_ns = u64::try_from(usage.user_ns + usage.system_ns).unwrap_or(0);
            open.own.add(&with_usage(own, cpu_ns));
        }
    }

    /// A run is over, whether its program could be started or not. Ends the record when it is long enough.
    pub fn after(&mut self, seq: u64, output: &mut Output) {
        let Some(open) = &mut self.open else { return };
        open.last = Some(seq);
        let least_ns = LEAST_NS.max(self.probe.price_ns.saturating_mul(SHARE));
        if self.place.clock.now_ns() - open.begin.at_ns() >= least_ns {
            self.close(output);
        }
    }

    fn close(&mut self, output: &mut Output) {
        let Some(last) = self.open.as_ref().and_then(|open| open.last) else {
            self.open = None;
            return;
        };
        let (end, cpus) = self.read();
        self.fetch(end.at_ns());
        let Some(open) = self.open.take() else { return };
        let around = self.around.as_mut().map(Around::read).unwrap_or_default();
        let load = open.load(last, (&end, &cpus, &around), self.epoch_ns, self.cost_ns());
        self.unknown.extend(load.unknown(|source| self.probe.absent(source)));
        output.load(&load);
        let account = self.sampler.as_ref().map(|(_, sampler)| sampler.account());
        if let Some(series) = open.series.event((open.first, last), (&open.begin, &end), account) {
            output.series(series);
        }
        self.last = Some((end, cpus));
    }

    fn read(&mut self) -> (Digest, Vec<Cpu>) {
        let (digest, cost_ns) = self.probe.read();
        self.spent_ns += cost_ns;
        (digest, self.probe.cpus())
    }

    /// Have a sampler of what is wanted; without one (no thread can be had) there are no samples.
    fn sample(&mut self) {
        if self.sampler.as_ref().is_some_and(|(what, _)| *what != self.wanted) {
            self.sampler = None;
        }
        match &self.sampler {
            Some((_, sampler)) => sampler.resume(),
            None => {
                let begun = self.place.clock.cpu_ns();
                let (sources, share) = match self.wanted {
                    Wanted::Series => (&SOURCES[..], SERIES_SHARE),
                    _ => (&["loadavg"][..], QUEUE_SHARE),
                };
                let columns = |_: &Snapshot| -> Box<dyn Rows> { Box::new(Digests::default()) };
                let made = Sampler::with(&self.place, sources, (PERIOD_NS, share), ROOM, columns);
                self.sampler = made.ok().map(|sampler| (self.wanted, sampler));
                self.spent_ns += self.place.clock.cpu_ns() - begun;
            }
        }
    }

    /// Take over the samples until a time.
    fn fetch(&mut self, until_ns: i64) {
        let (Some((_, sampler)), Some(open)) = (&mut self.sampler, &mut self.open) else { return };
        sampler.take(|row| {
            let Ok(numbers) = row.try_into() else { return };
            open.sample(Digest(numbers), until_ns);
        });
    }

    fn scripted(&self) -> bool {
        self.place.clock.is_scripted()
    }

    fn cost_ns(&self) -> i64 {
        self.spent_ns + self.sampler.as_ref().map_or(0, |(_, sampler)| sampler.account().cpu_ns)
    }
}
