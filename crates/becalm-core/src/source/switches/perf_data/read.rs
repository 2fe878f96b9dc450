//! The function `read`, which reads a whole file as records of the detector, with what was counted and what
//! is missing.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

use serde::Serialize;

use super::super::lane::{Lane, NamedThread};
use super::super::names::Names;
use super::super::parse::{parse_body, KernelEvent};
use super::super::record::{Record, Task};
use super::super::threads::Threads;
use super::super::Trouble;
use super::file::{word, Event, File};
use super::layout::Attributes;
use super::order::Order;
use super::PerfError;

/// A limit above the number of CPUs of any kernel.
const MOST_CPUS: u32 = 1 << 16;

/// The identifier of the leader of a group, in `Lane`, for samples of any CPU.
const LEADER: u64 = 1;
const OTHER: u64 = 2;

const COMM: u32 = 3;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const SWITCH_CPU_WIDE: u32 = 15;
const FINISHED_ROUND: u32 = 68;
/// The first type of perf's own records, which have no time and CPU.
const FIRST_OF_PERF: u32 = 64;

const SWITCHES: &str = "records of who runs next (--switch-events)";

const SOFTWARE: u32 = 1;
const RAW: u32 = 4;
const CPU_CLOCK: u64 = 0;
const CONTEXT_SWITCHES: u64 = 3;
const DUMMY: u64 = 9;

/// An event that was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counted {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: u32,
    pub config: u64,
    pub level: &'static str,
}

/// The contents of a file other than records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub references: Counted,
    pub misses: Counted,
    /// Whether both events are of a cache.
    pub miss_ratio: bool,
    /// The processor's name in perf; empty if the file does not have it.
    pub processor: String,
    pub records: u64,
    pub trouble: Trouble,
    /// The last name of each task.
    pub names: BTreeMap<Task, String>,
}

/// The events of a file by their ids.
struct Events {
    attributes: Vec<Attributes>,
    of_id: HashMap<u64, usize>,
    leader: usize,
    /// The ids of references and misses.
    members: [usize; 2],
}

/// The largest number of records that are searched for compression or damage in a file that lacks something.
const MOST_LOOKED_AT: usize = 1 << 16;

/// Read a file; `put` receives its records in order of time. An error is the reason why the file cannot be
/// used.
pub fn read(input: impl Read + Seek, put: impl FnMut(&Record)) -> Result<Summary, PerfError> {
    let mut file = File::open(input)?;
    let piped = file.piped;
    read_records(&mut file, put).map_err(|error| match error {
        PerfError::Lacks(_) | PerfError::System(_) => error,
        error if piped => PerfError::Piped(Box::new(error)),
        error => error,
    })
}

/// Return why a file that lacks something is not read: if it is compressed or cut, that is more useful to
/// know.
fn worst<R: Read + Seek>(file: &mut File<R>, lacks: PerfError) -> PerfError {
    for _ in 0..MOST_LOOKED_AT {
        match file.next() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => return error,
        }
    }
    match file.cut {
        Some(at) => PerfError::Damaged { at, what: "it ends before the last part of its header" },
        None => lacks,
    }
}

fn read_records<R: Read + Seek>(
    file: &mut File<R>,
    mut put: impl FnMut(&Record),
) -> Result<Summary, PerfError> {
    let mut events: Option<Events> = None;
    let mut lanes: HashMap<u32, Lane> = HashMap::new();
    let mut order: Order<(u32, KernelEvent)> = Order::default();
    let mut threads = Threads::default();
    let mut names = Names::default();
    let (mut records, mut switches) = (0, false);
    let mut pass = |(cpu, event): (u32, KernelEvent)| {
        names.update(&event);
        if time(&event) == 0 {
            return;
        }
        let lane = lanes.entry(cpu).or_insert_with(|| Lane::new(cpu, LEADER));
        lane.translate(event, |record: Record, named: [NamedThread; 2]| {
            threads.introduce(record, named, |each| {
                records += 1;
                put(each);
            });
        });
    };
    let mut known = 0;
    while let Some((head, body)) = file.next()? {
        if head.kind == FINISHED_ROUND {
            order.round(&mut pass);
            continue;
        }
        if head.kind >= FIRST_OF_PERF {
            continue;
        }
        let (kind, misc) = (head.kind, head.misc);
        let body = body.to_vec();
        if events.is_none() || known != file.events.len() {
            known = file.events.len();
            events = match Events::of(&file.events) {
                Ok(events) => Some(events),
                Err(lacks) => return Err(worst(file, lacks)),
            };
        }
        let Some(events) = &events else { continue };
        let Some((cpu, event)) = events.parse(kind, misc, &body) else { continue };
        // Records that perf made up at its start have no CPU.
        if cpu >= MOST_CPUS && time(&event) > 0 {
            continue;
        }
        switches |= kind == SWITCH_CPU_WIDE;
        order.push(time(&event), (cpu, event), &mut pass);
    }
    order.end(&mut pass);
    threads.end(|each| {
        records += 1;
        put(each);
    });
    let Some(events) = events else { return Err(PerfError::Lacks("records in it".to_owned())) };
    if !switches {
        return Err(PerfError::Lacks(SWITCHES.to_owned()));
    }
    let mut trouble = Trouble::default();
    for lane in lanes.values() {
        trouble.lost += lane.noticed.lost;
        trouble.shared += lane.noticed.shared;
    }
    let [references, misses] = events.members.map(|number| events.counted(number, &file.processor));
    let miss_ratio = references.kind != SOFTWARE && misses.kind != SOFTWARE;
    Ok(Summary {
        references,
        misses,
        miss_ratio,
        processor: std::mem::take(&mut file.processor),
        records,
        trouble,
        names: names.all(),
    })
}

fn time(event: &KernelEvent) -> u64 {
    match *event {
        KernelEvent::Sample { time_ns, .. }
        | KernelEvent::Out { time_ns, .. }
        | KernelEvent::In { time_ns, .. }
        | KernelEvent::Fork { time_ns, .. }
        | KernelEvent::Renamed { time_ns, .. }
        | KernelEvent::Exit { time_ns, .. }
        | KernelEvent::Lost { time_ns, .. }
        | KernelEvent::Uncounted { time_ns } => time_ns,
    }
}

impl Events {
    fn of(found: &[Event]) -> Result<Self, PerfError> {
        let attributes: Vec<Attributes> = found.iter().map(|each| each.attributes).collect();
        let is = |each: &Attributes, configs: &[u64]| each.kind == SOFTWARE && configs.contains(&each.config);
        let leader = attributes
            .iter()
            .position(|each| is(each, &[CONTEXT_SWITCHES]) && each.period == 1 && each.reads_group());
        let counters: Vec<usize> = (leader.map_or(0, |leader| leader + 1)..attributes.len())
            .filter(|number| !is(&attributes[*number], &[CONTEXT_SWITCHES, CPU_CLOCK, DUMMY]))
            .collect();
        let mut lacks: Vec<&str> = Vec::new();
        if leader.is_none() {
            lacks.push("group led by context-switches with a period of 1");
        } else if counters.len() < 2 {
            lacks.push("two counters next to the switches");
        }
        if leader.is_none() && !attributes.iter().any(Attributes::tells_switches) {
            lacks.push(SWITCHES);
        }
        for what in attributes.iter().flat_map(Attributes::unstamped) {
            if !lacks.contains(&what) {
                lacks.push(what);
            }
        }
        if let Some(first) = attributes.first() {
            let alike = |each: &Attributes| each.sample_type == first.sample_type;
            if !attributes.iter().all(Attributes::has_identifier) && !attributes.iter().all(alike) {
                lacks.push("identifiers in its records");
            }
        }
        let (Some(leader), &[first, second, ..], true) = (leader, counters.as_slice(), lacks.is_empty())
        else {
            return Err(PerfError::Lacks(lacks.join(", no ")));
        };
        // The names of perf may come in any order.
        let swapped = attributes[first].kind == 0
            && attributes[second].kind == 0
            && attributes[first].config & 0xffff_ffff == 3
            && attributes[second].config & 0xffff_ffff == 2;
        let members = if swapped { [second, first] } else { [first, second] };
        let of_id = found
            .iter()
            .enumerate()
            .flat_map(|(number, each)| each.ids.iter().map(move |id| (*id, number)))
            .collect();
        Ok(Self { attributes, of_id, leader, members })
    }

    /// Interpret a record of the kernel and its CPU; None: nothing of interest.
    fn parse(&self, kind: u32, misc: u16, body: &[u8]) -> Option<(u32, KernelEvent)> {
        let identified = self.attributes.first()?.has_identifier();
        if kind == SAMPLE {
            let number = match identified {
                // While others recorded switches, too, their identifier may be in our samples (`group`).
                true => self.of_id.get(&word(body, 0)?).copied().unwrap_or(self.leader),
                false => self.leader,
            };
            let of = self.attributes.get(number)?;
            if !of.reads_group() {
                return None;
            }
            let id = if number == self.leader { LEADER } else { OTHER };
            let member = |id: u64| {
                let number = self.of_id.get(&id)?;
                self.members.iter().position(|each| each == number)
            };
            let (stamp, event) = of.sample(id, body, member)?;
            return Some((stamp.cpu, event));
        }
        let number = match identified {
            true => self.of_id.get(&word(body, body.len().checked_sub(8)?)?).copied().unwrap_or(0),
            false => 0,
        };
        let (size, stamp) = self.attributes.get(number)?.trailer(body)?;
        if stamp.time_ns == 0 && kind != COMM {
            // Perf made it up at its start, of tasks that existed; threads are introduced again as they run.
            return None;
        }
        let body = &body[..body.len() - size];
        if kind == LOST_SAMPLES {
            return Some((stamp.cpu, KernelEvent::Lost { time_ns: stamp.time_ns, count: word(body, 0)? }));
        }
        Some((stamp.cpu, parse_body(kind, misc, body, (stamp.time_ns, stamp.task))?))
    }

    fn counted(&self, number: usize, processor: &str) -> Counted {
        let Attributes { kind, config, .. } = self.attributes[number];
        let generic = config & 0xffff_ffff;
        let amd = ["AuthenticAMD", "HygonGenuine"].iter().any(|vendor| processor.starts_with(vendor));
        let (name, level) = match (kind, generic) {
            (SOFTWARE, 2) => ("page-faults".to_owned(), "no cache: page faults, no miss ratio"),
            (SOFTWARE, 5) => ("minor-faults".to_owned(), "no cache: page faults, no miss ratio"),
            (SOFTWARE, other) => (format!("software event {other}"), "no cache: no miss ratio"),
            (0, 2 | 3) => {
                let name = if generic == 2 { "cache-references" } else { "cache-misses" };
                let level = match processor {
                    "" => "as the processor's driver defines it: the file does not name the processor",
                    _ if amd => "L2: on this processor the kernel's cache events are not of the last level",
                    _ if processor.starts_with("GenuineIntel") => "last-level cache",
                    _ => "as the processor's driver defines it",
                };
                (name.to_owned(), level)
            }
            // These are as in `events`, for the same processors.
            (RAW, 0x5e43) if amd => {
                ("ls_dmnd_fills_from_sys.5e".to_owned(), "demand data fills from L3 or beyond")
            }
            (RAW, 0x5c43) if amd => {
                ("ls_dmnd_fills_from_sys.5c".to_owned(), "demand data fills from beyond this L3")
            }
            _ => (format!("event type {kind} config {config:#x}"), "as the event's code says"),
        };
        // This is perf's spelling.
        let user = if kind != SOFTWARE && self.attributes[number].user() { ":u" } else { "" };
        Counted { name: name + user, kind, config, level }
    }
}
