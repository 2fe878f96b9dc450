//! The request `read`: raw numbers of the machine by source, and on request their changes since the previous
//! reading.

use std::path::Path;

use becalm_core::exec::tree::own;
use becalm_core::source::file::Place;
use becalm_core::source::layout::Kind;
use becalm_core::source::processes::Processes;
use becalm_core::source::snapshot::{difference, Moved, Section, Snapshot};
use becalm_core::source::table::{find, Row, TABLE};
use becalm_core::source::Reader;
use becalm_core::time::{AnyClock, Clock};
use serde_json::{json, Map, Value};

use crate::intervals::Intervals;
use crate::protocol::Failure;

/// The inverse of the largest share of time for looking at all processes: with many of them this is done more
/// rarely.
const LOOKING_SHARE: i64 = 100;

/// The sources that this conversation asked for last, with open files and their values.
#[derive(Default)]
pub struct Reading {
    /// The clock for times.
    pub clock: AnyClock,
    open: Option<(Vec<&'static str>, Reader)>,
    last: Option<Snapshot>,
    next: Snapshot,
    processes: Option<Looked>,
    intervals: Option<Intervals>,
}

/// All processes, and when they were looked at.
struct Looked {
    seen: Processes,
    at_ns: i64,
    /// The earliest time of the next look.
    again_ns: i64,
}

impl Reading {
    /// Create readings on a clock.
    pub fn on(clock: &AnyClock) -> Self {
        Self { clock: clock.clone(), ..Self::default() }
    }

    /// Return the `count` processes that used most CPU time since the previous look, except the agent. Null
    /// if there was no previous look, or if looking again so soon would cost too much.
    pub fn consumers(&mut self, root: &Path, count: u32) -> Value {
        let at_ns = self.clock.now_ns();
        if self.processes.as_ref().is_some_and(|last| at_ns < last.again_ns) {
            return Value::Null;
        }
        let seen = Processes::read(&Place::new(root));
        let took_ns = self.clock.now_ns() - at_ns;
        let consumers = self.processes.as_ref().map(|last| {
            let used = seen.since(&last.seen, count as usize, &own());
            let named =
                used.iter().map(|each| json!({"pid": each.pid, "name": each.name, "cpu_ns": each.cpu_ns}));
            json!({"interval_ns": at_ns - last.at_ns, "used": named.collect::<Vec<_>>()})
        });
        self.processes = Some(Looked { seen, at_ns, again_ns: at_ns + LOOKING_SHARE * took_ns });
        consumers.unwrap_or_default()
    }

    /// Return the load of the machine below a root since the previous reading: `load`, `unknown` and
    /// `absent`.
    pub fn load(&mut self, root: &Path) -> Map<String, Value> {
        self.intervals.get_or_insert_with(|| Intervals::new(root, &self.clock)).read()
    }

    /// Read these sources below a root, or all; with `changes` also the differences since the previous
    /// reading.
    pub fn read(&mut self, root: &Path, names: Option<&[String]>, changes: bool) -> Result<Value, Failure> {
        let rows = rows(names)?;
        let wanted: Vec<&'static str> = rows.iter().map(|row| row.name).collect();
        let mut reader = match self.open.take() {
            Some((names, reader)) if names == wanted => reader,
            _ => Reader::new(&Place::new(root).on(&self.clock), rows.into_iter()),
        };
        reader.sample(&mut self.next);
        self.open = Some((wanted, reader));
        let mut sources: Map<String, Value> = Map::new();
        for section in &self.next.sections {
            sources.insert(section.name.to_owned(), shown(&self.next, section));
        }
        if changes {
            let moved = self.last.as_ref().map(|last| difference(last, &self.next)).unwrap_or_default();
            for each in moved {
                if let Some(Value::Object(fields)) = sources.get_mut(each.name) {
                    fields.extend(since(&each));
                }
            }
        }
        let spare = self.last.take().unwrap_or_default();
        self.last = Some(std::mem::replace(&mut self.next, spare));
        // SAFETY: no pointers.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Ok(json!({"sources": sources, "page_bytes": page_bytes}))
    }
}

fn rows(names: Option<&[String]>) -> Result<Vec<&'static Row>, Failure> {
    let Some(names) = names else { return Ok(TABLE.iter().collect()) };
    let row = |name: &String| {
        find(name).ok_or_else(|| {
            let known: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
            Failure::new("usage", format!("There is no source {name:?}. There are: {}.", known.join(", ")))
        })
    };
    let mut rows = names.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let mut seen = Vec::new();
    rows.retain(|row| {
        !seen.contains(&row.name) && {
            seen.push(row.name);
            true
        }
    });
    Ok(rows)
}

fn shown(snapshot: &Snapshot, section: &Section) -> Value {
    if let Some(reason) = section.absent() {
        return json!({"at_ns": section.at_ns, "took_ns": section.took_ns, "absent": reason});
    }
    let (mut counters, mut states) = (Map::new(), Map::new());
    for (name, kind, value) in snapshot.named(section) {
        let values = if kind == Kind::State { &mut states } else { &mut counters };
        values.insert(name, value.into());
    }
    let missing: Vec<&str> = section.missing.iter().map(|reason| &**reason).collect();
    json!({
        "at_ns": section.at_ns, "took_ns": section.took_ns,
        "counters": counters, "states": states, "missing": missing,
    })
}

fn since(moved: &Moved) -> Map<String, Value> {
    let (mut changes, mut unknown) = (Map::new(), Map::new());
    for (name, change) in &moved.changes {
        match change {
            Ok(by) => changes.insert(name.clone(), (*by).into()),
            Err(why) => unknown.insert(name.clone(), why.words().into()),
        };
    }
    let mut fields = Map::new();
    fields.insert("interval_ns".to_owned(), moved.interval_ns.into());
    fields.insert("changes".to_owned(), changes.into());
    fields.insert("unknown".to_owned(), unknown.into());
    fields
}
