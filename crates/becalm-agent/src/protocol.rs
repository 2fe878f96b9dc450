//! The requests and errors of the protocol (docs/reference/protocol.md) as types; unknown fields are
//! rejected.

use std::collections::BTreeMap;
use std::path::PathBuf;

use becalm_core::exec::child::Stage;
use becalm_core::exec::spawner::SpawnError;
pub use becalm_core::failure::Failure;
use becalm_core::knob::catalogue::find;
use becalm_core::source::switches::events::EventSet;
use becalm_core::stress::demand::Demand;
use becalm_core::types::{Start, Step, Text, Workload};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// A request: its id and its action.
#[derive(Debug)]
pub struct Request {
    pub id: u64,
    pub action: Action,
}

/// The action of a request.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Action {
    Open {
        protocol: u32,
        #[serde(default)]
        environment: Option<BTreeMap<String, Text>>,
        #[serde(default)]
        directory: Option<Text>,
        #[serde(default)]
        title: String,
        /// A name that the user chose for this client, to distinguish it from others of the same user.
        #[serde(default)]
        owner: String,
        /// Whether the user consents to restarts of the machine.
        #[serde(default)]
        reboot: bool,
    },
    Facts {
        #[serde(default)]
        root: Option<PathBuf>,
    },
    Knobs {},
    Read {
        /// The sources to read; None: all.
        #[serde(default)]
        sources: Option<Vec<String>>,
        #[serde(default)]
        changes: bool,
        /// Whether to return the load since the previous reading as a record; then only named sources are
        /// read.
        #[serde(default)]
        load: bool,
        /// The number of processes to name that used most CPU time.
        #[serde(default)]
        consumers: u32,
    },
    Follow {
        pid: i32,
        /// The start time of the process, ticks since boot; None: any process that has the id now.
        #[serde(default)]
        started: Option<u64>,
        period_ns: i64,
        /// Whether each event except the first includes the load of the machine in the interval.
        #[serde(default)]
        load: bool,
        #[serde(default)]
        consumers: u32,
    },
    /// Record context switches with two counters per CPU, until the process ends or `stop` arrives.
    Record {
        recording: Recording,
        /// The process to record; None: all until `stop`.
        #[serde(default)]
        pid: Option<i32>,
        #[serde(default)]
        started: Option<u64>,
    },
    Define {
        workloads: Vec<Workload>,
        /// The settings; None: those with this index are not used before the next definition.
        settings: Vec<Option<Map<String, Value>>>,
        #[serde(default)]
        dangerous: bool,
    },
    Plan {
        settings: Map<String, Value>,
        #[serde(default)]
        dangerous: bool,
    },
    Hold {
        settings: Map<String, Value>,
        #[serde(default)]
        dangerous: bool,
        #[serde(default)]
        keep: bool,
    },
    /// Resolve settings of the boot on this machine, and report whether this boot has them.
    Effects {
        settings: Map<String, Value>,
        #[serde(default)]
        dangerous: bool,
    },
    Release {},
    Restore {
        #[serde(default)]
        force: bool,
        /// Whether to restore only what this user has applied, under the `owner` of `open`.
        #[serde(default)]
        mine: bool,
        /// Whether to remove a boot entry, too.
        #[serde(default = "yes")]
        entry: bool,
    },
    Status {},
    Boot {
        parameters: Vec<String>,
        #[serde(default = "ten_minutes")]
        limit_s: u32,
        #[serde(default)]
        dangerous: bool,
    },
    Reboot {},
    Healthy {},
    #[serde(rename = "keep_boot")]
    KeepBoot {
        parameters: Vec<String>,
    },
    Unboot {
        #[serde(default)]
        force: bool,
    },
    Measure {
        first: u64,
        steps: Vec<Step>,
        /// The starts of the steps, one for each; empty: one after the other, on any CPU.
        #[serde(default)]
        starts: Vec<Start>,
        #[serde(default = "yes")]
        stop_on_failure: bool,
        #[serde(default)]
        load: Wanted,
        /// The recording while programs run.
        #[serde(default)]
        recording: Option<Recording>,
        /// Count whom programs wait for by this means, next to load data.
        #[serde(default)]
        waits_by: Option<WaitMeans>,
    },
    /// Generate known load next to programs, until `unload`.
    Load {
        demand: Demand,
    },
    Unload {},
    Overhead {
        runs: u32,
    },
    Stop {},
    /// Answer at once, also while a program runs, to show that the agent is alive.
    Alive {},
    Bye {},
}

/// The parameters of a recording.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    pub events: EventSet,
    #[serde(default)]
    pub by: Means,
    /// The window T, ns: a task that goes on is read once per window.
    pub window_ns: u64,
    /// The time between two batches of records, ns; None: two windows, limited to 10 to 100 ms.
    #[serde(default)]
    pub batch_ns: Option<u64>,
    /// The CPUs as a list such as 0,2-3; None: all that are online.
    #[serde(default)]
    pub cpus: Option<String>,
}

/// The kernel interface that reports switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Means {
    /// Groups of counters: perf_event_open(2).
    #[default]
    Perf,
    /// Programs in the kernel: bpf(2), if the agent was built with them.
    Bpf,
}

/// The kernel interface that counts whom programs wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitMeans {
    /// A program in the kernel.
    Bpf,
}

/// The load data that a block asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    #[default]
    None,
    Totals,
    Series,
}

impl Request {
    /// Return whether the request is answered at once, also while a program runs.
    pub fn is_urgent(&self) -> bool {
        matches!(self.action, Action::Stop {} | Action::Alive {})
    }
}

fn yes() -> bool {
    true
}

fn ten_minutes() -> u32 {
    600
}

/// Parse one line.
///
/// # Errors
/// The error has the request's id if it could be read.
pub fn parse(line: &[u8]) -> Result<Request, (Option<u64>, Failure)> {
    let protocol = |message: String| Failure::new("protocol", message);
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (None, protocol(format!("A request is not JSON: {error}."))))?;
    let Value::Object(mut fields) = value else {
        return Err((None, protocol("A request must be a JSON object.".to_owned())));
    };
    let Some(id) = fields.remove("id").and_then(|id| id.as_u64()) else {
        return Err((None, protocol("A request needs an id, a whole number from 0 on.".to_owned())));
    };
    match serde_json::from_value(Value::Object(fields)) {
        Ok(action) => Ok(Request { id, action }),
        Err(error) => Err((Some(id), protocol(format!("A request cannot be understood: {error}.")))),
    }
}

/// Return the failure of a child that did not become its program; `explain` describes a failed exec.
pub fn start_failure(error: &SpawnError, explain: impl Fn(&std::io::Error) -> String) -> Failure {
    let (stage, error) = match error {
        SpawnError::Clone(error) => {
            let message = format!(
                "A process could not be created: {error}. The machine may have too many processes or too little memory."
            );
            return Failure::new("system", message);
        }
        SpawnError::Lost => {
            let message = "The process that starts programs was ended by somebody, or does not answer. Start becalm again.";
            return Failure::new("system", message);
        }
        SpawnError::Setting { name, error } => return refused_setting(name, error),
        SpawnError::Child { stage, error } => (stage, error),
    };
    match stage {
        Stage::Exec => Failure::new("not_executable", explain(error)),
        Stage::Group | Stage::Setting(_) => {
            Failure::new("system", format!("The program could not join its control group: {error}."))
        }
        Stage::User => Failure::new("permission", format!("The workload's user could not be set: {error}.")),
        Stage::Directory => {
            Failure::new("not_found", format!("The working directory could not be entered: {error}."))
        }
        Stage::Input => Failure::new("not_found", format!("The input file could not be opened: {error}.")),
        Stage::Cpu => Failure::new(
            "system",
            format!("The program could not be confined to its CPU: {error}. Another program may have taken the CPU away."),
        ),
        Stage::Streams => Failure::new("system", format!("Standard streams could not be set up: {error}.")),
    }
}

fn refused_setting(name: &str, error: &std::io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let message = format!(
                "The kernel does not let this user set {name}. Use --sudo, or a value that asks for less."
            );
            Failure::new("permission", message)
        }
        Some(libc::EOPNOTSUPP) => {
            let why = find(name).map_or("", |knob| knob.absent);
            Failure::new("unsupported", format!("This kernel ignores {name}; {why}. Leave the setting out."))
        }
        Some(libc::ERANGE) => {
            let message = format!(
                "The kernel made another value of {name}: its limits are narrower than usual. Choose one further from them."
            );
            Failure::new("domain", message)
        }
        _ => Failure::new("domain", format!("The kernel does not accept the value of {name}: {error}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests() {
        let request = parse(b"{\"id\":3,\"do\":\"measure\",\"first\":0,\"steps\":[[0,0,16,-1]]}").unwrap();
        assert_eq!(request.id, 3);
        let Action::Measure { steps, stop_on_failure, .. } = request.action else { panic!() };
        assert_eq!(steps, [Step(0, 0, 16, -1)]);
        assert!(stop_on_failure);
    }

    #[test]
    fn an_invalid_request_keeps_its_id_if_it_has_one() {
        assert_eq!(parse(b"{}").unwrap_err().0, None);
        assert_eq!(parse(b"[1]").unwrap_err().0, None);
        assert_eq!(parse(b"{\"id\":-1,\"do\":\"stop\"}").unwrap_err().0, None);
        assert_eq!(parse(b"{\"id\":4,\"do\":\"dance\"}").unwrap_err().0, Some(4));
        assert_eq!(
            parse(b"{\"id\":4,\"do\":\"stop\",\"now\":1}").unwrap_err().0,
            Some(4),
            "unknown fields are refused"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn no_json_breaks_the_parser(name in "[a-z]{1,8}", id in any::<i64>(), text in ".*") {
            let line = serde_json::json!({"id": id, "do": name, "steps": text}).to_string();
            let _ = parse(line.as_bytes());
        }
    }
}
