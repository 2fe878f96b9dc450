//! The report of a load's real work, as JSON and as a sentence.

use serde_json::{json, Value};

use super::demand::Demand;

/// The reason why a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reason {
    Time,
    Command,
    /// A signal, even one that came before all of the load was up.
    #[default]
    Signal,
    Failure,
}

/// The end of the command: its exit code or minus the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub status: i32,
    pub wall_ns: u64,
}

/// The work of one process while all of the load was up. None is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    pub kind: &'static str,
    pub unit: &'static str,
    pub asked: Option<f64>,
    pub done: u64,
    pub cpu_ns: Option<u64>,
    /// The time for which it was ready to run but waited for a processor.
    pub wait_ns: Option<u64>,
}

/// A load that has ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    pub demand: Demand,
    pub reason: Reason,
    pub wall_ns: u64,
    pub command: Option<Ended>,
    pub shares: Vec<Share>,
    /// The totals of the whole machine meanwhile.
    pub swapped_out_bytes: Option<u64>,
    /// The reason why a process of the load ended early.
    pub failure: Option<String>,
}

impl Report {
    pub fn to_json(&self) -> Value {
        let reason = match self.reason {
            Reason::Time => "time",
            Reason::Command => "command",
            Reason::Signal => "signal",
            Reason::Failure => "failure",
        };
        let share = |share: &Share| {
            json!({"kind": share.kind, "unit": share.unit, "asked": share.asked, "done": share.done,
                   "cpu_ns": share.cpu_ns, "wait_ns": share.wait_ns})
        };
        json!({
            "event": "done",
            "reason": reason,
            "wall_ns": self.wall_ns,
            "command": self.command.map(|ended| json!({"status": ended.status, "wall_ns": ended.wall_ns})),
            "shares": self.shares.iter().map(share).collect::<Vec<_>>(),
            "swapped_out_bytes": self.swapped_out_bytes,
            "failure": self.failure,
            "sentence": self.sentence(),
        })
    }

    /// Describe the work, kind by kind.
    pub fn sentence(&self) -> String {
        let seconds = self.wall_ns as f64 / 1e9;
        let mut parts = Vec::new();
        if self.demand.cpu > 0.0 {
            parts.push(match self.sum("cpu", |share| share.cpu_ns) {
                Some(ns) => format!(
                    "{:.2} processors busy on average ({:.2} requested{})",
                    ns as f64 / self.wall_ns.max(1) as f64,
                    self.demand.cpu,
                    self.waited()
                ),
                None => format!("{:.2} processors requested; how much ran is unknown", self.demand.cpu),
            });
        }
        if let (Some(memory), Some(limit)) = (self.demand.memory_bytes, self.demand.limit_bytes) {
            let swapped =
                self.swapped_out_bytes.map_or("how much was swapped out is unknown".to_owned(), |bytes| {
                    format!("the machine swapped out {}", size(bytes as f64))
                });
            parts.push(format!(
                "{} of memory in a limit of {}, {swapped}",
                size(memory as f64),
                size(limit as f64)
            ));
        }
        for (kind, what) in [("disk", "written to the disk"), ("network", "over the loopback network")] {
            if self.shares.iter().any(|share| share.kind == kind) {
                let bytes = self.done(kind);
                let asked =
                    self.shares.iter().filter(|share| share.kind == kind).find_map(|share| share.asked);
                let asked = asked.map_or(String::new(), |rate| format!(" of {}/s requested", size(rate)));
                let rate = size(bytes / seconds.max(1e-9));
                parts.push(format!("{} {what} ({rate}/s{asked})", size(bytes)));
            }
        }
        if self.demand.syscalls > 0 {
            parts.push(format!("{:.1} million calls of the kernel", self.done("syscalls") / 1e6));
        }
        let mut sentence = format!("Load for {seconds:.1} s: {}.", parts.join("; "));
        if let Some(failure) = &self.failure {
            sentence.push_str(&format!(" But it did not last to the end: {failure}"));
        }
        sentence
    }

    fn waited(&self) -> String {
        match self.sum("cpu", |share| share.wait_ns) {
            Some(ns) if ns > self.wall_ns / 100 => {
                format!("; {:.1} s spent waiting for one", ns as f64 / 1e9)
            }
            _ => String::new(),
        }
    }

    fn sum(&self, kind: &str, of: impl Fn(&Share) -> Option<u64>) -> Option<u64> {
        self.shares.iter().filter(|share| share.kind == kind).map(of).sum()
    }

    fn done(&self, kind: &str) -> f64 {
        self.shares.iter().filter(|share| share.kind == kind).map(|share| share.done).sum::<u64>() as f64
    }
}

/// Return bytes as text, in powers of 1024 as they are requested.
fn size(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes {
        _ if bytes >= KIB * KIB * KIB => format!("{:.2} GiB", bytes / (KIB * KIB * KIB)),
        _ if bytes >= KIB * KIB => format!("{:.1} MiB", bytes / (KIB * KIB)),
        _ if bytes >= KIB => format!("{:.0} KiB", bytes / KIB),
        _ => format!("{bytes:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(kind: &'static str, asked: Option<f64>, done: u64, cpu_ns: Option<u64>) -> Share {
        Share { kind, unit: "", asked, done, cpu_ns, wait_ns: Some(0) }
    }

    #[test]
    fn the_sentence_reports_each_kind_of_load() {
        let mut report = Report {
            demand: Demand {
                cpu: 2.0,
                disk_directory: Some("/x".into()),
                disk_rate: Some(52_428_800.0),
                ..Demand::default()
            },
            reason: Reason::Time,
            wall_ns: 10_000_000_000,
            shares: vec![
                share("cpu", Some(1.0), 0, Some(9_000_000_000)),
                share("cpu", Some(1.0), 0, Some(10_000_000_000)),
                share("disk", Some(52_428_800.0), 523_239_424, Some(1)),
            ],
            ..Report::default()
        };
        let sentence = report.sentence();
        assert_eq!(
            sentence,
            "Load for 10.0 s: 1.90 processors busy on average (2.00 requested); \
             499.0 MiB written to the disk (49.9 MiB/s of 50.0 MiB/s requested)."
        );
        report.shares[0].cpu_ns = None;
        report.failure = Some("It broke.".into());
        let sentence = report.sentence();
        assert!(
            sentence.contains("how much ran is unknown") && sentence.ends_with("It broke."),
            "{sentence}"
        );
        assert!(report.to_json()["shares"][0]["cpu_ns"].is_null());
    }
}
