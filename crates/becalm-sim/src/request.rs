//! Requests to `becalm-sim` and its answers, each a JSON object on one line.
//!
//! `{"workload": {"hackbench": {"groups": 20, "loops": 1000}}, "policy": {"eevdf": {}}, "machine": {"cpus":
//! 2}, "seed": 1}` is answered by `{"summary": {...}}` or `{"error": "..."}`, preceded by lines of
//! `{"progress": ...}` if the request asks for them.

use serde::{Deserialize, Serialize};

use crate::policy::{cfs, eevdf, Cfs, Eevdf, Policy};
use crate::simulation::{Limits, Simulation, SimulationError};
use crate::summary::Summary;
use crate::workload::{Hackbench, Workload};
use crate::Machine;

/// A request for one simulation. Omitted fields have their defaults; omitted knobs have those of the kernel
/// for this number of CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub workload: Work,
    pub policy: Which,
    #[serde(default)]
    pub machine: Machine,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub until_ns: Option<u64>,
    /// The largest number of spans in the answer, each a task that ran on a CPU.
    #[serde(default)]
    pub spans: usize,
    /// Whether the answer has a row for each task.
    #[serde(default)]
    pub per_task: bool,
    /// Whether distributions include all their buckets.
    #[serde(default)]
    pub buckets: bool,
    #[serde(default)]
    pub progress: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    Hackbench(Hackbench),
    Tasks(Workload),
}

/// A scheduler, with the knobs and features that differ from the kernel's defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    Cfs(CfsKnobs),
    Eevdf(EevdfKnobs),
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CfsKnobs {
    pub latency_ns: Option<u64>,
    pub min_granularity_ns: Option<u64>,
    pub wakeup_granularity_ns: Option<u64>,
    pub features: cfs::Features,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EevdfKnobs {
    pub base_slice_ns: Option<u64>,
    pub least_protected_ns: Option<u64>,
    pub features: eevdf::Features,
}

/// An answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Summary(Box<Summary>),
    Error(String),
    Progress { now_ns: u64, ended: f64 },
}

/// Parse a request.
///
/// # Errors
/// Returns a sentence if the line is not a request.
pub fn parse(line: &str) -> Result<Request, String> {
    serde_json::from_str(line).map_err(|error| format!("This is not a request: {error}."))
}

impl Request {
    /// Run the simulation. `goes_on` is called now and then with the simulated time, ns, and the share of
    /// tasks that have ended; it returns whether to continue.
    ///
    /// # Errors
    /// Fails if the workload or the machine is invalid, and if the simulation cannot proceed.
    pub fn play(&self, goes_on: impl FnMut(u64, f64) -> bool) -> Result<Summary, SimulationError> {
        let made;
        let workload = match &self.workload {
            Work::Tasks(given) => given,
            Work::Hackbench(bench) => {
                bench.check()?;
                made = bench.workload();
                &made
            }
        };
        let cpus = self.machine.cpus;
        match &self.policy {
            Which::Cfs(knobs) => {
                let usual = Cfs::scaled(cpus);
                let policy = Cfs {
                    latency_ns: knobs.latency_ns.unwrap_or(usual.latency_ns),
                    min_granularity_ns: knobs.min_granularity_ns.unwrap_or(usual.min_granularity_ns),
                    wakeup_granularity_ns: knobs.wakeup_granularity_ns.unwrap_or(usual.wakeup_granularity_ns),
                    features: knobs.features.clone(),
                };
                self.under(workload, &policy, goes_on)
            }
            Which::Eevdf(knobs) => {
                let usual = Eevdf::scaled(cpus, self.machine.hz);
                let policy = Eevdf {
                    base_slice_ns: knobs.base_slice_ns.unwrap_or(usual.base_slice_ns),
                    least_protected_ns: knobs.least_protected_ns,
                    tick_ns: usual.tick_ns,
                    features: knobs.features.clone(),
                };
                self.under(workload, &policy, goes_on)
            }
        }
    }

    fn under<P: Policy>(
        &self,
        workload: &Workload,
        policy: &P,
        goes_on: impl FnMut(u64, f64) -> bool,
    ) -> Result<Summary, SimulationError> {
        let usual = Limits::default();
        let limits = Limits {
            until_ns: self.until_ns.unwrap_or(usual.until_ns).min(usual.until_ns),
            spans: self.spans,
            ..usual
        };
        let simulation = Simulation::new(workload, &self.machine, policy, self.seed, limits)?;
        let mut found = simulation.run_while(goes_on)?;
        if !self.per_task {
            found.per_task.clear();
        }
        if !self.buckets {
            found.wait.buckets.clear();
            found.message_latency.buckets.clear();
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_knobs_have_the_kernels_defaults() {
        let line =
            r#"{"workload": {"hackbench": {"groups": 1, "fan": 2, "loops": 3}}, "policy": {"eevdf": {}}}"#;
        let found = parse(line).unwrap().play(|_, _| true).unwrap();
        assert_eq!((found.messages, found.cpus, found.per_task.len()), (12, 2, 0));
        let knobs = r#"{"workload": {"hackbench": {}}, "policy": {"cfs": {"latency_ns": 5, "features": {"LAST_BUDDY": false}}}}"#;
        let Which::Cfs(knobs) = parse(knobs).unwrap().policy else { panic!("another policy") };
        assert!(!knobs.features.last_buddy && knobs.features.start_debit);
    }

    #[test]
    fn an_invalid_request_is_rejected_with_a_reason() {
        for (line, why) in [
            ("", "not a request"),
            ("{}", "missing field `workload`"),
            (
                r#"{"workload": {"hackbench": {}}, "policy": {"cfs": {"base_slice_ns": 1}}}"#,
                "unknown field `base_slice_ns`",
            ),
            (r#"{"workload": {"hackbench": {}}, "policy": {"fifo": {}}}"#, "unknown variant `fifo`"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(why), "{message}");
        }
        let zero = r#"{"workload": {"hackbench": {"groups": 0}}, "policy": {"cfs": {}}}"#;
        assert!(parse(zero).unwrap().play(|_, _| true).unwrap_err().to_string().contains("no tasks"));
        let large = r#"{"workload": {"hackbench": {"groups": 4000000000}}, "policy": {"cfs": {}}}"#;
        assert!(parse(large).unwrap().play(|_, _| true).unwrap_err().to_string().contains("GB of memory"));
        let cpus = r#"{"workload": {"hackbench": {}}, "policy": {"cfs": {}}, "machine": {"cpus": 0}}"#;
        assert!(parse(cpus).unwrap().play(|_, _| true).unwrap_err().to_string().contains("1 to 8192 CPUs"));
    }
}
