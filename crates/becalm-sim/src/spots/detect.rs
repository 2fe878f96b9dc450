//! The detector: it turns records, or windows counted elsewhere, into windows, states and sweet spots. It is
//! a pure function of its input.
//!
//! `Detection::feed` takes records in pieces of any size, and `finish` returns `Found`. `account` does the
//! accounting, `judge` decides for each program, `cost` estimates the cost of migrations, and `wait` decides
//! about waiting.

use std::collections::HashSet;

use serde::{Deserialize, Serialize, Serializer};

use super::account::{Accounting, Event, Trouble};
use super::cost::{costs, Migration};
use super::judge::{Judge, Marks, Spot, State};
use super::record::{Record, Task};
use super::rules::Rules;
use super::wait::{Decision, Waiting, Wanted};
use super::window::{Counts, Window};

/// A question about a stream, which the answer repeats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    pub rules: Rules,
    /// The CPUs of each last-level cache; if empty, all CPUs share one.
    pub llc: Vec<Vec<u32>>,
    /// The recorded CPUs; None if all are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Vec<u32>>,
    /// The tasks to report, with all that they fork; None for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<Task>>,
    pub waiting: Waiting,
    /// The moves for which a moment is requested.
    pub wanted: Vec<Wanted>,
    /// Whether the answer includes the windows.
    pub windows: bool,
}

/// A program in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Seen {
    pub task: Task,
    pub process: Task,
    pub from_ns: u64,
    pub until_ns: u64,
    pub ended: bool,
    pub own: Counts,
    pub others: Counts,
}

/// A mark set by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub program: usize,
    pub time_ns: u64,
    pub number: u32,
}

/// A window with its verdict. As JSON: `[program, start, end, own references, own misses, others' references,
/// others' misses, marks]`, with marks as a sum: 1 known, 2 last, 4 own high, 8 others high, 16 type 1, 32
/// type 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked(pub Window, pub Marks);

impl Serialize for Marked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(window, marks) = self;
        let bits =
            [window.known, window.last, marks.own_high, marks.others_high, marks.change, marks.evicted];
        let sum = bits.iter().enumerate().map(|(bit, &is)| u8::from(is) << bit).sum::<u8>();
        (
            window.program,
            window.start_ns,
            window.end_ns,
            window.own.references,
            window.own.misses,
            window.others.references,
            window.others.misses,
            sum,
        )
            .serialize(serializer)
    }
}

/// The results for a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    pub question: Question,
    pub records: u64,
    pub from_ns: u64,
    pub until_ns: u64,
    /// The CPUs with records.
    pub cpus: Vec<u32>,
    pub programs: Vec<Seen>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Marked>,
    /// The number of windows, and the number of unknown ones.
    pub counted: (u64, u64),
    pub states: Vec<State>,
    pub spots: Vec<Spot>,
    pub marks: Vec<Mark>,
    pub migrations: Vec<Migration>,
    pub decisions: Vec<Decision>,
    pub trouble: Trouble,
    /// The counts of idle CPUs.
    pub idle: Counts,
    /// The counts of unidentified tasks.
    pub unattributed: Counts,
}

/// The state of a detection while its stream is read.
#[derive(Debug)]
pub struct Detection {
    question: Question,
    accounting: Accounting,
    only: Option<HashSet<Task>>,
    judges: Vec<Option<Judge>>,
    windows: Vec<Marked>,
    states: Vec<State>,
    spots: Vec<Spot>,
    marks: Vec<Mark>,
    moves: Vec<(usize, u64, u32, u32)>,
    unknown: u64,
    newest: Option<u64>,
}

impl Detection {
    /// Create a detection.
    ///
    /// # Errors
    /// Returns a sentence about invalid rules.
    pub fn new(question: Question) -> Result<Self, String> {
        question.rules.check()?;
        question.waiting.check()?;
        let mut named = HashSet::new();
        if let Some(twice) = question.llc.iter().flatten().find(|&&cpu| !named.insert(cpu)) {
            return Err(format!("CPU {twice} has two last-level caches. Name it once."));
        }
        let rules = &question.rules;
        let accounting =
            Accounting::new(rules.window_ns, rules.closing, &question.llc, question.recorded.as_deref());
        Ok(Self {
            only: question.tasks.as_ref().map(|tasks| tasks.iter().copied().collect()),
            question,
            accounting,
            judges: Vec::new(),
            windows: Vec::new(),
            states: Vec::new(),
            spots: Vec::new(),
            marks: Vec::new(),
            moves: Vec::new(),
            unknown: 0,
            newest: None,
        })
    }

    /// Process the next records of the stream.
    pub fn feed<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) {
        for record in records {
            if let (Some(only), super::What::Fork { parent, child, process }) = (&mut self.only, record.what)
            {
                // The task's children, and its threads that existed before the first record.
                if only.contains(&parent) || only.contains(&process) {
                    only.insert(child);
                }
            }
            self.accounting.push(record);
            self.drain();
        }
    }

    /// End the stream and return the results.
    pub fn finish(mut self) -> Found {
        self.accounting.finish();
        self.drain();
        let programs = self.accounting.programs().iter().map(|each| Seen {
            task: each.task,
            process: each.process,
            from_ns: each.from_ns,
            until_ns: each.until_ns,
            ended: each.ended,
            own: each.own,
            others: each.others,
        });
        let programs: Vec<Seen> = programs.collect();
        self.found(programs)
    }

    /// Return the results for windows of one task that were counted elsewhere, in order of time, and its
    /// marks.
    pub fn of_windows(mut self, task: Task, windows: &[Window], marks: &[Mark]) -> Found {
        let (mut own, mut others) = (Counts::default(), Counts::default());
        for window in windows {
            own += window.own;
            others += window.others;
            self.window(Window { program: 0, ..*window });
        }
        let from_ns = windows.first().map_or(0, |each| each.start_ns);
        let until_ns = windows.last().map_or(0, |each| each.end_ns);
        let ended = windows.last().is_some_and(|each| each.last);
        self.marks = marks.to_vec();
        let seen = Seen { task, process: task, from_ns, until_ns, ended, own, others };
        let mut found = self.found(vec![seen]);
        (found.from_ns, found.until_ns) = (from_ns, until_ns);
        found
    }

    /// Return the time of the newest sweet spot.
    pub fn newest_spot(&self) -> Option<u64> {
        self.newest
    }

    /// Return the windows and sweet spots since the last call and forget them, for streams without end.
    pub fn ready(&mut self) -> (Vec<Marked>, Vec<Spot>) {
        self.states.clear();
        self.marks.clear();
        self.moves.clear();
        (std::mem::take(&mut self.windows), std::mem::take(&mut self.spots))
    }

    /// Return the programs, in the order by which windows and spots number them.
    pub fn programs(&self) -> &[super::program::Program] {
        self.accounting.programs()
    }

    /// Return the time of the newest record.
    pub fn now_ns(&self) -> u64 {
        self.accounting.span().2
    }

    /// Decide about a wanted move from what is known so far; `Why::Ended` means "not yet" while the stream
    /// goes on. None for a task that was not seen before the move was wanted.
    pub fn decision(&self, wanted: Wanted) -> Option<Decision> {
        let programs = self.accounting.programs();
        let of = |each: &super::program::Program| each.task == wanted.task && each.from_ns <= wanted.at_ns;
        let number = programs.iter().rposition(of)?;
        let mut windows: Vec<Window> = Vec::new();
        for Marked(window, _) in self.windows.iter().rev().filter(|each| each.0.program == number) {
            windows.push(*window);
            if window.end_ns <= wanted.at_ns {
                break;
            }
        }
        windows.reverse();
        let spots: Vec<Spot> = self.spots.iter().filter(|each| each.program == number).copied().collect();
        Some(self.question.waiting.decide(wanted, &windows, &spots))
    }

    fn drain(&mut self) {
        for event in self.accounting.take() {
            let number = match event {
                Event::Closed(window) => window.program,
                Event::Forked { program, .. }
                | Event::Executed { program, .. }
                | Event::Marked { program, .. }
                | Event::Migrated { program, .. } => program,
            };
            let task = self.accounting.programs()[number].task;
            if self.only.as_ref().is_some_and(|only| !only.contains(&task)) {
                continue;
            }
            match event {
                Event::Closed(window) => self.window(window),
                Event::Forked { program, time_ns } | Event::Executed { program, time_ns } => {
                    self.spots.push(Spot {
                        program,
                        kind: 0,
                        time_ns,
                        counts: Counts::default(),
                        threshold: 0.0,
                    });
                }
                Event::Marked { program, time_ns, number } => {
                    self.marks.push(Mark { program, time_ns, number })
                }
                Event::Migrated { program, time_ns, from, to } => {
                    self.moves.push((program, time_ns, from, to))
                }
            }
        }
        self.newest = self.spots.last().map(|spot| spot.time_ns);
    }

    fn window(&mut self, window: Window) {
        if self.judges.len() <= window.program {
            self.judges.resize_with(window.program + 1, || None);
        }
        let rules = &self.question.rules;
        let judge = self.judges[window.program].get_or_insert_with(|| Judge::new(rules));
        let marks = judge.window(&window, rules, &mut self.spots, &mut self.states);
        self.unknown += u64::from(!window.known);
        self.windows.push(Marked(window, marks));
    }

    fn found(mut self, programs: Vec<Seen>) -> Found {
        for judge in self.judges.iter_mut().flatten() {
            judge.finish(&mut self.states);
        }
        self.states.sort_by_key(|each| (each.from_ns, each.program, each.kind));
        let by_program = self.by_program(programs.len());
        let moves = std::mem::take(&mut self.moves);
        let migrations = costs(&moves, &by_program, &self.spots);
        let decisions = self.question.wanted.iter().filter_map(|&wanted| {
            let mut bearers = programs.iter().enumerate().filter(|(_, each)| each.task == wanted.task);
            let number = bearers.rfind(|(_, each)| each.from_ns <= wanted.at_ns)?.0;
            let spots: Vec<Spot> = self.spots.iter().filter(|each| each.program == number).copied().collect();
            Some(self.question.waiting.decide(wanted, &by_program[number], &spots))
        });
        let decisions = decisions.collect();
        let (records, from_ns, until_ns) = self.accounting.span();
        let (idle, unattributed) = self.accounting.of_nobody();
        Found {
            counted: (self.windows.len() as u64, self.unknown),
            windows: if self.question.windows { self.windows } else { Vec::new() },
            question: self.question,
            records,
            from_ns,
            until_ns,
            cpus: self.accounting.seen(),
            programs,
            states: self.states,
            spots: self.spots,
            marks: self.marks,
            migrations,
            decisions,
            trouble: self.accounting.trouble(),
            idle,
            unattributed,
        }
    }

    fn by_program(&self, count: usize) -> Vec<Vec<Window>> {
        let mut found = vec![Vec::new(); count];
        for Marked(window, _) in &self.windows {
            found[window.program].push(*window);
        }
        found
    }
}
