//! How much load of which kind is wanted: the noun Demand, and what can be said of it without looking at the machine.

use serde::Deserialize;

use super::job::LoadError;

/// Whether the load belongs to the session of whoever asks, or to one of its own: with `sched_autogroup_enabled` the
/// kernel shares processors among sessions first, and among processes second (sched(7), "The autogroup feature").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    #[default]
    Same,
    New,
}

/// Load to make. Zero and null: none of that.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Demand {
    /// Processors to keep busy: 2.5 are two whole ones and a half.
    pub cpu: f64,
    /// Nice value of all load, -20 to 19; null: that of whoever asks.
    pub nice: Option<i32>,
    /// Processors that all load is bound to; null: any.
    pub cpus: Option<Vec<usize>>,
    /// Bytes to write to again and again, in a group that may have no more than `limit_bytes` in memory.
    pub memory_bytes: Option<u64>,
    pub limit_bytes: Option<u64>,
    /// Directory to write in, past the page cache; `disk_rate` in bytes per second, null: as fast as it goes.
    pub disk_directory: Option<String>,
    pub disk_rate: Option<f64>,
    /// Bytes per second through a TCP connection over the loopback interface.
    pub network_rate: Option<f64>,
    /// Processes that do nothing but call the kernel.
    pub syscalls: u32,
    pub session: Session,
}

/// More processes than that help nobody, and a slip of the finger should not take the machine.
const MOST: f64 = 10_000.0;

impl Demand {
    /// Whether the demand can be meant: numbers in their domain and fields that belong together.
    pub fn check(&self) -> Result<(), LoadError> {
        let no = |sentence: String| Err(LoadError(sentence));
        if !(0.0..=MOST).contains(&self.cpu) {
            return no(format!("{} processors cannot be kept busy: say 0 to {MOST}.", self.cpu));
        }
        if f64::from(self.syscalls) > MOST {
            return no(format!(
                "{} processes that call the kernel are too many: at most {MOST}.",
                self.syscalls
            ));
        }
        if let Some(nice) = self.nice.filter(|nice| !(-20..=19).contains(nice)) {
            return no(format!("A nice value is -20 to 19, not {nice}."));
        }
        if self.cpus.as_ref().is_some_and(|cpus| cpus.is_empty() || cpus.iter().any(|cpu| *cpu >= 1024)) {
            return no("The list of processors for the load is empty or names one above 1023.".into());
        }
        for (what, rate) in [("disk", self.disk_rate), ("network", self.network_rate)] {
            if rate.is_some_and(|rate| !(rate.is_finite() && rate >= 1.0)) {
                return no(format!("The {what} rate must be at least 1 byte per second."));
            }
        }
        if self.disk_rate.is_some() && self.disk_directory.is_none() {
            return no("A disk rate needs a directory to write in: --disk DIR --rate 50M.".into());
        }
        match (self.memory_bytes, self.limit_bytes) {
            (Some(memory), None) => no(format!(
                "Memory load of {memory} bytes needs a limit, so that the machine survives it: --limit 256M keeps it in \
                 a control group that has no more than that in memory."
            )),
            (None, Some(_)) => no("A limit belongs to memory load: --memory 512M --limit 256M.".into()),
            (Some(memory), Some(limit)) if memory < 1 << 20 || limit < 1 << 20 => {
                no("Memory load and its limit must be at least 1M.".into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Demand, String> {
        let demand: Demand = serde_json::from_str(text).map_err(|error| error.to_string())?;
        demand.check().map_err(|error| error.0).map(|()| demand)
    }

    #[test]
    fn what_is_asked_for() {
        let demand = of(r#"{"cpu":2.5,"nice":5,"cpus":[0],"session":"new"}"#).unwrap();
        assert_eq!((demand.cpu, demand.nice, demand.session), (2.5, Some(5), Session::New));
        assert_eq!(of("{}").unwrap().session, Session::Same);
        assert!(of(r#"{"memory_bytes":1048576,"limit_bytes":1048576}"#).is_ok());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_field() {
        for (bad, word) in [
            (r#"{"cpu":-1}"#, "processors"),
            (r#"{"cpu":1e9}"#, "processors"),
            (r#"{"nice":20}"#, "nice"),
            (r#"{"cpus":[]}"#, "list of processors"),
            (r#"{"cpus":[5000]}"#, "list of processors"),
            (r#"{"disk_rate":5}"#, "--disk"),
            (r#"{"network_rate":0}"#, "network rate"),
            (r#"{"memory_bytes":1048576}"#, "needs a limit"),
            (r#"{"limit_bytes":1048576}"#, "belongs to memory"),
            (r#"{"memory_bytes":5,"limit_bytes":5}"#, "at least 1M"),
            (r#"{"syscalls":100000}"#, "too many"),
            (r#"{"spin":1}"#, "spin"),
        ] {
            assert!(of(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
