//! Quantities of a run other than its times (`becalm_core::quantity`): memory over time, counters, energy.
//!
//! `measure` calls `begin` before a run starts, `look` at the times of `due_ns`, `stop` at the end of the
//! program and `end` for the results. Without such metrics nothing is opened or read. `check` finds out
//! before the first run what can be measured.

use std::cell::Cell;
use std::path::Path;

use becalm_core::exec::{clock_ns, now_ns};
use becalm_core::metric::{Metric, MetricError};
use becalm_core::number::sensible;
use becalm_core::quantity::{Field, Kind, Memory, Quantity};
use becalm_core::source::course::{Course, FEWEST};
use becalm_core::source::energy::Energy;
use becalm_core::source::perf_events::{find as event, Event};
use becalm_core::source::resident::Resident;
use becalm_core::source::run_counters::RunCounters;
use becalm_core::types::Usage;
use serde_json::{json, Map, Value};

use crate::protocol::Failure;

/// The root of the machine's files.
const ROOT: &str = "/";

/// The smallest number of samples that are sent as a series.
const FEWEST_DRAWN: u64 = 2 * FEWEST;

/// Check that all of these metrics can be measured here.
///
/// # Errors
/// Names a metric that cannot be measured, and the reason.
pub fn check(metrics: &[Metric]) -> Result<(), Failure> {
    let refused = |name: &str, why: &str| {
        Failure::new("unsupported", format!("{name} cannot be measured here: {why}."))
    };
    for quantity in metrics.iter().filter_map(Metric::quantity) {
        if let Kind::Energy(domain) = quantity.kind {
            Energy::open(Path::new(ROOT), domain).map_err(|why| refused(quantity.name, &why))?;
        }
        // Each event is opened alone first, so that the reason refers to it.
        if let Some(event) = event_of(quantity) {
            RunCounters::open(0, &[event]).map_err(|why| refused(quantity.name, &why))?;
        }
    }
    let events = events(metrics);
    if let Some(first) = metrics.iter().filter_map(Metric::quantity).find(|each| event_of(each).is_some()) {
        RunCounters::open(0, &events).map_err(|why| refused(first.name, &why))?;
    }
    Ok(())
}

fn events(metrics: &[Metric]) -> Vec<&'static Event> {
    metrics.iter().filter_map(Metric::quantity).filter_map(event_of).collect()
}

/// Return the event that a quantity counts.
fn event_of(quantity: &'static Quantity) -> Option<&'static Event> {
    match quantity.kind {
        Kind::Counter(name) => event(name),
        _ => None,
    }
}

/// The number of processes of a program that are named for their memory.
const NAMED: usize = 8;

/// The gauges of runs, one run at a time.
pub struct Gauges {
    /// The process that starts programs.
    starter: libc::pid_t,
    /// Whether memory over time comes from a script.
    scripted: bool,
    resident: Option<Resident>,
    /// The memory over time of the current run, with the time when it began.
    course: Option<(i64, Course)>,
    /// The processes that had most memory when there was most.
    holders: Vec<(libc::pid_t, String, u64)>,
    counters: Option<(Vec<&'static Event>, Result<RunCounters, String>)>,
    energy: Vec<(&'static str, Option<Energy>)>,
    done: EndReadings,
    reported_user_only: bool,
}

/// The readings at the end of a run, before its cleanup command could add to them.
#[derive(Default)]
struct EndReadings {
    course: Option<Course>,
    holders: Vec<(libc::pid_t, String, u64)>,
    counts: Vec<(&'static Event, Result<u64, String>)>,
    energy: Vec<(&'static str, Option<f64>)>,
}

/// The measurements of one run.
pub struct RunMeasurements {
    done: EndReadings,
    usage: Option<Usage>,
    wall_ns: i64,
}

impl Gauges {
    /// Create gauges for programs that this process starts; with `scripted` their memory over time comes from
    /// `script`.
    pub fn new(starter: libc::pid_t, scripted: bool) -> Self {
        let (resident, course, counters, energy) = (None, None, None, Vec::new());
        let (holders, done) = (Vec::new(), EndReadings::default());
        Self {
            starter,
            scripted,
            resident,
            course,
            holders,
            counters,
            energy,
            done,
            reported_user_only: false,
        }
    }

    /// Prepare for a run with these metrics.
    pub fn begin(&mut self, metrics: &[Metric]) {
        let wanted = |kind: fn(&Kind) -> bool| {
            metrics.iter().filter_map(Metric::quantity).any(|quantity| kind(&quantity.kind))
        };
        let memory = !self.scripted && wanted(|kind| matches!(kind, Kind::Memory(_)));
        self.done = EndReadings::default();
        self.energy.clear();
        for quantity in metrics.iter().filter_map(Metric::quantity) {
            if let Kind::Energy(domain) = quantity.kind {
                self.energy.push((domain, Energy::open(Path::new(ROOT), domain).ok()));
            }
        }
        let events = events(metrics);
        // The counters of the previous run are closed first, since a processor has few.
        self.counters = None;
        if !events.is_empty() {
            self.counters = Some((events.clone(), RunCounters::open(self.starter, &events)));
        }
        for energy in self.energy.iter_mut().filter_map(|(_, energy)| energy.as_mut()) {
            energy.begin();
        }
        if memory {
            self.resident.get_or_insert_with(Resident::default);
        }
        self.holders.clear();
        self.course = memory.then(|| (now_ns(), Course::default()));
    }

    /// Return the time of the next look at the run, by CLOCK_MONOTONIC_RAW; None if none is needed.
    pub fn due_ns(&self) -> Option<i64> {
        self.course.as_ref().map(|(begun_ns, course)| begun_ns + course.due_ns())
    }

    /// Look at the run if it is time.
    pub fn look(&mut self) {
        let (Some((begun_ns, course)), Some(resident)) = (&mut self.course, &mut self.resident) else {
            return;
        };
        let at_ns = now_ns() - *begun_ns;
        if at_ns < course.due_ns() {
            return;
        }
        let before = spent();
        // SAFETY: cannot fail.
        let bytes = resident.below(unsafe { libc::getpid() });
        if bytes.is_some_and(|bytes| bytes > course.largest()) {
            self.holders = resident.largest(NAMED);
        }
        course.take(at_ns, bytes, spent() - before);
    }

    /// Read everything at the end of the program, before anything else is counted.
    pub fn stop(&mut self) {
        let mut counts = Vec::new();
        if let Some((events, counters)) = &self.counters {
            counts.extend(events.iter().map(|event| {
                let counters = counters.as_ref().map_err(Clone::clone);
                (*event, counters.and_then(|each| each.count(event).map_err(|error| error.to_string())))
            }));
        }
        let used = |(domain, energy): &(&'static str, Option<Energy>)| {
            (*domain, energy.as_ref().and_then(Energy::since))
        };
        let energy = self.energy.iter().map(used).collect();
        let course = self.course.take().map(|(_, course)| course);
        self.done = EndReadings { course, holders: std::mem::take(&mut self.holders), counts, energy };
    }

    /// Replace the memory over time of the run that has just stopped by a script's.
    pub fn script(&mut self, resident: &[(i64, u64)]) {
        let mut course = Course::default();
        for (at_ns, bytes) in resident {
            course.take(*at_ns, Some(*bytes), 0);
        }
        self.done.course = Some(course);
    }

    /// Return the measurements of a run with this usage and length; without usage for one that could not be
    /// started.
    pub fn end(&mut self, usage: Option<Usage>, wall_ns: i64) -> RunMeasurements {
        self.course = None;
        RunMeasurements { done: std::mem::take(&mut self.done), usage, wall_ns }
    }

    /// Return a remark about how events are counted here, once.
    pub fn remark(&mut self) -> Option<String> {
        let (_, counters) = self.counters.as_ref()?;
        if self.reported_user_only || !counters.as_ref().is_ok_and(|each| each.user_only) {
            return None;
        }
        self.reported_user_only = true;
        Some(
            "Events are counted in user mode alone: kernel.perf_event_paranoid hides the kernel's part from this user. \
             As root becalm counts both."
                .to_owned(),
        )
    }
}

fn spent() -> i64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

impl RunMeasurements {
    /// Return the value of a measured metric. With `compared` it must be above zero, since ratios are formed.
    pub fn value(&self, quantity: &'static Quantity, compared: bool) -> Result<f64, MetricError> {
        let unknown = |why: String| MetricError::NotMeasured(quantity.name, why);
        let value = match quantity.kind {
            Kind::Wall => Ok(self.wall_ns as f64 / 1e9),
            Kind::Usage(field) => self.used(field),
            Kind::Memory(which) => self.memory(which),
            Kind::Counter(_) => self.count(quantity),
            Kind::Energy(domain) => self.energy(domain),
        };
        let value = value.map_err(unknown)?;
        if compared && !sensible(value) {
            let why = format!(
                "it is {value}, and differences are ratios of numbers above zero. Compare something else, and give this \
                 one as a further --metric"
            );
            return Err(unknown(why));
        }
        Ok(value)
    }

    fn used(&self, field: Field) -> Result<f64, String> {
        let usage = self.usage.ok_or_else(|| "the program could not be started".to_owned())?;
        Ok(match field {
            Field::User => usage.user_ns as f64 / 1e9,
            Field::System => usage.system_ns as f64 / 1e9,
            Field::Cpu => (usage.user_ns + usage.system_ns) as f64 / 1e9,
            Field::MinorFaults => usage.minor_faults as f64,
            Field::MajorFaults => usage.major_faults as f64,
            Field::Voluntary => usage.voluntary as f64,
            Field::Involuntary => usage.involuntary as f64,
        })
    }

    fn memory(&self, which: Memory) -> Result<f64, String> {
        let few = |least: u64| {
            let count = self.done.course.as_ref().map_or(0, Course::taken);
            format!(
                "it ended after {:.0} ms, in which its memory was seen {count} times, and {least} are needed. \
                 memory:peak is known of short programs, too",
                self.wall_ns as f64 / 1e6
            )
        };
        let course = self.done.course.as_ref().ok_or_else(|| few(1))?;
        match which {
            Memory::Average => course.average().ok_or_else(|| few(FEWEST)),
            Memory::Growth => course.growth(self.wall_ns).ok_or_else(|| few(2 * FEWEST)),
            Memory::Peak => {
                let counted = self.usage.map_or(0, |usage| usage.max_rss_bytes);
                Ok((course.largest() as f64).max(counted as f64))
            }
        }
    }

    fn count(&self, quantity: &'static Quantity) -> Result<f64, String> {
        let mine = |(event, _): &&(&Event, Result<u64, String>)| Some(*event) == event_of(quantity);
        let found = self.done.counts.iter().find(mine);
        let count =
            found.map_or_else(|| Err("it was not counted".to_owned()), |(_, count)| count.clone())? as f64;
        // The kernel counts this clock in ns.
        Ok(if quantity.unit == "ms" { count / 1e6 } else { count })
    }

    fn energy(&self, domain: &str) -> Result<f64, String> {
        let found = self.done.energy.iter().find(|(each, _)| *each == domain);
        found
            .and_then(|(_, used)| *used)
            .ok_or_else(|| "a counter of the processor's energy could not be read".to_owned())
    }

    /// Return the fields of the `series` event of this run, its memory over time, once per program (`sent`).
    pub fn event(&self, seq: u64, sent: &Cell<bool>) -> Option<Map<String, Value>> {
        let course =
            self.done.course.as_ref().filter(|course| course.taken() >= FEWEST_DRAWN && !sent.get())?;
        sent.set(true);
        let rows: Vec<Value> = course.samples().iter().map(|(at_ns, bytes)| json!([at_ns, bytes])).collect();
        let holder = |(pid, name, bytes): &(libc::pid_t, String, u64)| json!({"pid": pid, "name": name, "resident_bytes": bytes});
        let consumers: Vec<Value> = self.done.holders.iter().map(holder).collect();
        let event = json!({
            "event": "series", "first": seq, "last": seq, "names": ["resident_bytes"], "rows": rows,
            "dropped": 0, "skipped": 0, "consumers": consumers, "cost_ns": course.spent_ns,
        });
        match event {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becalm_core::quantity::find;
    use serde_json::from_value;

    fn metrics(names: &[&str]) -> Vec<Metric> {
        names
            .iter()
            .map(|name| Metric::new(&from_value(json!({"quantity": name})).unwrap()).unwrap())
            .collect()
    }

    fn usage(max_rss_bytes: i64) -> Option<Usage> {
        Some(Usage {
            user_ns: 0,
            system_ns: 0,
            max_rss_bytes,
            minor_faults: 0,
            major_faults: 0,
            voluntary: 0,
            involuntary: 0,
        })
    }

    #[test]
    fn without_memory_metrics_there_is_nothing_to_look_at() {
        let mut gauges = Gauges::new(0, false);
        gauges.begin(&metrics(&[]));
        assert_eq!(gauges.due_ns(), None);
        gauges.look();
        gauges.stop();
        assert!(gauges.end(None, 5).event(0, &Cell::new(false)).is_none());
    }

    #[test]
    fn the_peak_is_known_without_samples_and_the_average_is_not() {
        let mut gauges = Gauges::new(0, false);
        gauges.begin(&metrics(&["memory:peak", "memory:average"]));
        assert!(gauges.due_ns().is_some());
        gauges.stop();
        let measurements = gauges.end(usage(1 << 20), 2_000_000);
        assert_eq!(measurements.value(find("memory:peak").unwrap(), true), Ok(1_048_576.0));
        let message = measurements.value(find("memory:average").unwrap(), true).unwrap_err().to_string();
        assert!(message.contains("2 ms") && message.contains("memory:peak"), "{message}");
        assert_eq!(gauges.due_ns(), None);
    }

    #[test]
    fn the_kernels_account_of_a_run_gives_its_times_faults_and_switches() {
        let account = Usage {
            user_ns: 1_500_000_000,
            system_ns: 250_000_000,
            max_rss_bytes: 1,
            minor_faults: 31,
            major_faults: 2,
            voluntary: 7,
            involuntary: 11,
        };
        let names = [
            ("time:user", 1.5),
            ("time:system", 0.25),
            ("time:cpu", 1.75),
            ("faults:minor", 31.0),
            ("faults:major", 2.0),
            ("switches:voluntary", 7.0),
            ("switches:involuntary", 11.0),
        ];
        let measurements = Gauges::new(0, false).end(Some(account), 2_000_000_000);
        for (name, value) in names {
            assert_eq!(measurements.value(find(name).unwrap(), true), Ok(value), "{name}");
        }
        let not_started = Gauges::new(0, false).end(None, 0);
        for (name, _) in names {
            assert!(not_started.value(find(name).unwrap(), false).is_err(), "{name}");
        }
    }

    #[test]
    fn a_compared_metric_is_above_zero_and_a_further_one_may_be_zero() {
        let mut gauges = Gauges::new(0, false);
        gauges.begin(&metrics(&["memory:peak"]));
        gauges.stop();
        let measurements = gauges.end(usage(0), 2_000_000);
        let peak = find("memory:peak").unwrap();
        assert_eq!(measurements.value(peak, false), Ok(0.0));
        assert!(measurements.value(peak, true).unwrap_err().to_string().contains("ratios"));
    }

    #[test]
    fn an_unmeasurable_metric_is_rejected_with_a_reason() {
        for row in becalm_core::quantity::TABLE {
            assert_eq!(event_of(row).is_some(), matches!(row.kind, Kind::Counter(_)), "{}", row.name);
            if let Err(failure) = check(&metrics(&[row.name])) {
                assert_eq!(failure.kind, "unsupported");
                assert!(failure.message.starts_with(row.name) && failure.message.len() > 60, "{failure}");
            }
        }
        assert!(check(&metrics(&["memory:peak", "memory:growth"])).is_ok());
    }
}
