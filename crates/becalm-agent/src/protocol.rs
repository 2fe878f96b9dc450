//! Requests and errors of the protocol (docs/reference/protocol.md), as types; unknown fields are refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use becalm_core::exec::child::Stage;
use becalm_core::exec::spawner::SpawnError;
pub use becalm_core::failure::Failure;
use becalm_core::knob::catalogue::find;
use becalm_core::source::switches::events::EventSet;
use becalm_core::stress::demand::Demand;
use becalm_core::types::{Step, Text, Workload};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The protocol's version.
pub const VERSION: u32 = 2;

/// One request: its number and what to do.
#[derive(Debug)]
pub struct Request {
    pub id: u64,
    pub action: Action,
}

/// What a request asks for.
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
        /// A name of the person's for whoever this is, apart from others of the same user.
        #[serde(default)]
        owner: String,
        /// The person consents to restarts of the machine.
        #[serde(default)]
        reboot: bool,
    },
    Facts {
        #[serde(default)]
        root: Option<PathBuf>,
    },
    Knobs {},
    Read {
        /// None: all.
        #[serde(default)]
        sources: Option<Vec<String>>,
        #[serde(default)]
        changes: bool,
        /// What the machine did since the reading before, as a record of load; then no sources but those that are named.
        #[serde(default)]
        load: bool,
        /// How many of the processes that used most CPU time are named.
        #[serde(default)]
        consumers: u32,
    },
    Follow {
        pid: i32,
        /// When it began, ticks since boot; None: whatever has the number now.
        #[serde(default)]
        started: Option<u64>,
        period_ns: i64,
        /// What the machine did during the run, in each event but the first.
        #[serde(default)]
        load: bool,
        #[serde(default)]
        consumers: u32,
    },
    /// Who runs when with two counters per CPU, until the process ends or `stop` comes.
    Record {
        recording: Recording,
        /// None: until `stop`.
        #[serde(default)]
        pid: Option<i32>,
        #[serde(default)]
        started: Option<u64>,
    },
    Define {
        workloads: Vec<Workload>,
        /// None: settings of that index are not used before the next definition.
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
    /// What settings of the boot are here, and whether this boot has them.
    Effects {
        settings: Map<String, Value>,
        #[serde(default)]
        dangerous: bool,
    },
    Release {},
    Restore {
        #[serde(default)]
        force: bool,
        /// Only what this user has put on, under the `owner` of `open`.
        #[serde(default)]
        mine: bool,
        /// A boot entry, too.
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
        #[serde(default = "yes")]
        stop_on_failure: bool,
        #[serde(default)]
        load: Wanted,
        /// What is to be recorded while programs run.
        #[serde(default)]
        recording: Option<Recording>,
    },
    /// Known load beside programs, until `unload`.
    Load {
        demand: Demand,
    },
    Unload {},
    Overhead {
        runs: u32,
    },
    Stop {},
    /// Answered at once, also while a program runs: is anybody there?
    Alive {},
    Bye {},
}

/// What is to be recorded.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    pub events: EventSet,
    #[serde(default)]
    pub by: Means,
    /// T: tasks that go on for so long are read so often.
    pub window_ns: u64,
    /// How often records are sent; None: every two windows, within 10 to 100 ms.
    #[serde(default)]
    pub batch_ns: Option<u64>,
    /// A list such as 0,2-3; None: all that are online.
    #[serde(default)]
    pub cpus: Option<String>,
}

/// By what the kernel tells of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Means {
    /// Groups of counters, perf_event_open(2).
    #[default]
    Perf,
    /// Programs in the kernel, bpf(2), where the agent was built with them.
    Bpf,
}

/// What of the load a block wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    #[default]
    None,
    Totals,
    Series,
}

impl Request {
    /// Whether it is answered at once, also while a program runs.
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

/// Read one line. The error carries the request's number when it could be read.
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

/// A child that did not become its program, in a sentence; `explain` words a failed exec.
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
    fn what_cannot_be_understood_keeps_its_number_where_it_has_one() {
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
