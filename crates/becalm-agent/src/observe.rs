//! The load of the machine during runs: snapshots before and after, samples in between, and records of both.
//!
//! `session` begins and ends a block; `measure` reports that a run starts, goes on or has ended. `probe`
//! reads the machine, and a `record` gathers what makes up a load. This thread reads nothing within a run's
//! timed window, except once per second in long runs. The sampler is the only other thread of the agent;
//! `alone` ends it, since a process that forks a long-lived child must have a single thread.

use std::collections::BTreeMap;
use std::path::Path;

use becalm_core::exec::account::RunQueue;
use becalm_core::load::counted::{beginnings, SOURCES};
use becalm_core::load::digest::Digest;
use becalm_core::load::exit::Exit;
use becalm_core::load::machine::Digests;
use becalm_core::load::own::Own;
use becalm_core::load::own_cpus::{Cpu, Shared};
use becalm_core::source::affinity::allowed;
use becalm_core::source::file::Place;
use becalm_core::source::group::{Around, Throttled};
use becalm_core::source::interface::Rows;
use becalm_core::source::pace::LARGEST_SHARE;
use becalm_core::source::perf_events::Pair;
use becalm_core::source::sampler::Sampler;
use becalm_core::source::snapshot::Snapshot;
use becalm_core::time::{AnyClock, Clock};
use becalm_core::types::Usage;
use serde_json::{json, Value};

use crate::accounts::{with_usage, Accounts};
use crate::others::Others;
use crate::output::Output;
use crate::probe::Probe;
use crate::protocol::{Failure, Wanted};
use crate::record::Record;
use crate::recording;
use crate::series::Samples;

/// The time for which a record covers further runs, ns.
const LEAST_NS: i64 = 100_000_000;

/// The time for which a record covers further runs, in multiples of the cost of a snapshot. It matters on large
/// machines, where a snapshot takes more than a millisecond. Snapshots are taken between runs; within a run there
/// is only the sampler.
const SHARE: i64 = 100;

/// The gap before the next run up to which the end of one record is the beginning of the next, ns.
const GAP_NS: i64 = 2_000_000;

/// The time between samples, ns.
const PERIOD_NS: i64 = 100_000_000;

/// The largest share of one CPU for sampling only the run queue: snapshots need the rest of the thousandth.
const QUEUE_SHARE: f64 = LARGEST_SHARE * 0.3;

/// The largest share of one CPU for sampling a series: a quarter is left for the readings at both ends.
const SERIES_SHARE: f64 = LARGEST_SHARE * 0.75;

/// The number of samples that the sampler keeps until they are fetched, at least once per second.
const ROOM: usize = 256;

/// The time between two looks at a long run, ns.
pub const LOOK_NS: i64 = 1_000_000_000;

/// A group for programs, with the reason if it could not be created.
pub type Made = (Around, Option<String>);

/// The observer, which makes the records of a conversation.
pub struct Observer {
    place: Place,
    epoch_ns: i64,
    wanted: Wanted,
    /// The processes that start programs, and the events counted for them.
    counted: ([i32; 2], Pair),
    probe: Probe,
    accounts: Option<Accounts>,
    around: Option<Around>,
    /// The group that was created before anybody asked to observe.
    made: Option<Made>,
    /// Whether the next program stays in its own group.
    stays: bool,
    sampler: Option<(Wanted, Sampler)>,
    open: Option<Record>,
    /// The CPU time that others take; None if it cannot be read.
    others: Option<Others>,
    /// The counts of the quotas of the groups around the programs since others were last reported.
    quotas: Vec<Throttled>,
    /// The last run of the block that has ended.
    ended: Option<u64>,
    /// The CPUs that the programs could use since others were last reported.
    shared: Shared,
    /// The end of the last record, with the activity of each CPU so far.
    last: Option<(Digest, Vec<Cpu>)>,
    /// The CPU time that this thread has spent on observing, ns.
    spent_ns: i64,
    /// The reasons why columns of this block were unknown.
    unknown: BTreeMap<&'static str, String>,
}

impl Observer {
    /// Observe the machine below a root, with a clock and its Unix time minus monotonic time, ns. `counted`
    /// are the processes that start programs with the events counted for them; `made` is a group created before
    /// those processes.
    ///
    /// With a scripted clock nothing is sampled, and the kernel's accounts of programs are not read.
    pub fn new(
        root: &Path,
        (clock, epoch_ns): (&AnyClock, i64),
        counted: ([i32; 2], Pair),
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
            others: None,
            quotas: Vec::new(),
            ended: None,
            shared: Shared::default(),
            last: None,
            spent_ns: 0,
            unknown: BTreeMap::new(),
        }
    }

    /// Begin a block.
    pub fn begin(&mut self, wanted: Wanted) {
        self.wanted = wanted;
        self.unknown.clear();
        (self.open, self.last, self.ended) = (None, None, None);
        self.shared = Shared::default();
        self.quotas.clear();
        if wanted != Wanted::None && !self.scripted() {
            let (starters, pair) = self.counted;
            self.accounts.get_or_insert_with(|| Accounts::open(starters, pair)).block();
            if self.others.is_none() {
                self.others = Others::open(&self.place.clock);
            }
            if let Some(others) = &mut self.others {
                others.block();
            }
        } else {
            self.rest();
        }
    }

    /// Count whom programs wait for, in this block and those that follow.
    ///
    /// # Errors
    /// Returns the reason if that cannot be counted here.
    pub fn count_waits(&mut self) -> Result<(), Failure> {
        if self.scripted() {
            return Ok(());
        }
        if self.others.is_none() {
            self.others = Others::open(&self.place.clock);
        }
        let Some(others) = &mut self.others else {
            return Err(Failure::new("unsupported", "This kernel has no CPU clocks of processes."));
        };
        others.count_waits().map_err(recording::failure)
    }

    /// Create a control group for the programs if possible, once.
    pub fn make_group(&mut self) {
        if self.wanted == Wanted::None || self.around.is_some() || self.scripted() {
            return;
        }
        let (mut around, why) = self.made.take().unwrap_or_else(|| Around::new(&self.place));
        let taken = self.counted.0.into_iter().try_for_each(|starter| around.take_in(starter));
        let why = why.or(taken.err());
        if let (Some(why), Some(accounts)) = (why, &mut self.accounts) {
            accounts.reasons.push(("group", why));
        }
        self.around = Some(around);
    }

    /// Register whether the next program joins another group, which its settings ask for.
    pub fn placed(&mut self, elsewhere: bool) {
        self.stays = !elsewhere && self.around.as_ref().is_some_and(Around::has_own);
    }

    /// End the block with its last record, and return the reasons why columns were unknown in it.
    pub fn end(&mut self, output: &mut Output) -> BTreeMap<&'static str, String> {
        self.close(output);
        if let Some(last) = self.ended {
            self.report_others(last, true, output);
        }
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

    /// End the other thread until the next run.
    pub fn alone(&mut self) {
        self.sampler = None;
    }

    /// Stop all observing until the next observed run.
    pub fn rest(&mut self) {
        self.alone();
        if let Some(accounts) = &mut self.accounts {
            accounts.hush();
        }
    }

    /// Prepare for a run that is about to start.
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
            // This comes before reading the machine, since looking at all processes takes a while.
            let account = self.sampler.as_ref().map(|(_, sampler)| sampler.account());
            let series = Samples::new(&self.place, self.wanted == Wanted::Series, account);
            let around = self.around.as_mut().map(Around::read).unwrap_or_default();
            let (begin, cpus) = fresh.unwrap_or_else(|| self.read());
            self.open = Some(Record::new(seq, (begin, cpus, around), spent_ns, series));
        }
        if let Some(others) = &mut self.others {
            others.before(seq);
            self.spent_ns += others.spent_ns();
        }
        if let Some(open) = &mut self.open {
            open.joined &= self.stays;
        }
        if let Some(accounts) = &mut self.accounts {
            accounts.begin();
        }
    }

    /// Prepare for a second program that runs at the same time as the one that `before` has prepared for.
    pub fn alongside(&mut self) {
        if let (Some(accounts), Some(_)) = (&mut self.accounts, &self.open) {
            accounts.begin_second();
        }
    }

    /// Return whether a long run needs to be looked at.
    pub fn looks(&self) -> bool {
        self.wanted != Wanted::None
    }

    /// Return whether samples of the runs are sent as a series.
    pub fn draws(&self) -> bool {
        self.wanted == Wanted::Series
    }

    /// Look at a run that goes on, and fetch what would not fit at the end.
    pub fn look(&mut self) {
        let begun = self.place.clock.cpu_ns();
        if let Some(accounts) = &mut self.accounts {
            accounts.look();
        }
        self.fetch(i64::MAX);
        if let Some(others) = &mut self.others {
            others.look(None);
            // Its time is part of what is added below.
            others.spent_ns();
        }
        self.spent_ns += self.place.clock.cpu_ns() - begun;
    }

    /// Return the accounts of a program that has ended but was not reaped, to be passed to `reaped`, and its
    /// exit record. `queue` is its schedstat since its time began; `early` is what it had run and waited
    /// before.
    pub fn ended(
        &mut self,
        pid: i32,
        queue: Option<RunQueue>,
        early: RunQueue,
    ) -> (Option<Own>, Option<Exit>) {
        let (Some(accounts), Some(open)) = (&mut self.accounts, &mut self.open) else { return (None, None) };
        let begun = self.place.clock.cpu_ns();
        // The exit record is read first, since its end is known more precisely the sooner it is read.
        let (own, exit) = accounts.ended(pid as u32, queue, early);
        open.shared.join(allowed(pid));
        if let Some(others) = &mut self.others {
            others.program(pid as u32);
        }
        self.spent_ns += self.place.clock.cpu_ns() - begun;
        (Some(own), exit)
    }

    /// Return the same for two programs that ran at the same time; None: it could not be started.
    pub fn ended_together(
        &mut self,
        pids: [Option<i32>; 2],
        queues: [Option<RunQueue>; 2],
        early: [RunQueue; 2],
    ) -> [(Option<Own>, Option<Exit>); 2] {
        let nothing = [(None, None), (None, None)];
        let (Some(accounts), Some(open)) = (&mut self.accounts, &mut self.open) else { return nothing };
        let begun = self.place.clock.cpu_ns();
        let accounts = accounts.ended_together(pids.map(|pid| pid.map(|pid| pid as u32)), queues, early);
        for pid in pids.into_iter().flatten() {
            open.shared.join(allowed(pid));
            if let Some(others) = &mut self.others {
                others.program(pid as u32);
            }
        }
        self.spent_ns += self.place.clock.cpu_ns() - begun;
        accounts
    }

    /// Add the accounts of a reaped program to the record.
    pub fn reaped(&mut self, own: Option<Own>, usage: &Usage) {
        if let (Some(open), Some(own)) = (&mut self.open, own) {
            let cpu_ns = u64::try_from(usage.user_ns + usage.system_ns).unwrap_or(0);
            open.own.add(&with_usage(own, cpu_ns));
        }
    }

    /// Register the end of a run, whether its program could be started or not, and end the record if it is
    /// long enough.
    pub fn after(&mut self, seq: u64, output: &mut Output) {
        let Some(open) = &mut self.open else { return };
        open.last = Some(seq);
        self.ended = Some(seq);
        let least_ns = LEAST_NS.max(self.probe.price_ns.saturating_mul(SHARE));
        if self.place.clock.now_ns() - open.begin.at_ns() >= least_ns {
            self.close(output);
            self.report_others(seq, false, output);
        }
    }

    /// Report what others did until the run `last`, if it is time or the block ends.
    fn report_others(&mut self, last: u64, ends: bool, output: &mut Output) {
        let Some(others) = &mut self.others else { return };
        if let Some(accounts) = &mut self.accounts {
            others.ended(accounts.strangers());
        }
        if let Some(mut event) = others.after(last, ends, self.shared.same()) {
            if !self.quotas.is_empty() {
                event.insert("quotas".to_owned(), self.quotas.drain(..).map(quota).collect());
            }
            output.series(event);
            self.shared = Shared::default();
        }
        self.spent_ns += others.spent_ns();
    }

    fn close(&mut self, output: &mut Output) {
        let Some(last) = self.open.as_ref().and_then(|open| open.last) else {
            self.open = None;
            return;
        };
        let (end, cpus) = self.read();
        self.fetch(end.at_ns());
        let Some(open) = self.open.take() else { return };
        let around = self.around.as_mut().map(Around::read).unwrap_or_default().since(&open.around);
        for more in &around.quotas {
            match self.quotas.iter_mut().find(|quota| quota.group == more.group && quota.cpus == more.cpus) {
                Some(quota) => quota.add(more),
                None => self.quotas.push(more.clone()),
            }
        }
        self.shared.join(open.shared.same().cloned());
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

    /// Start or resume sampling what is wanted. If no thread can be created there are no samples.
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

    /// Take over the samples up to a time.
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

fn quota(Throttled { group, cpus, periods, throttled, throttled_ns }: Throttled) -> Value {
    json!([group, cpus, periods, throttled, throttled_ns])
}
