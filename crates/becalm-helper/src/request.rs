//! Requests to `becalm-helper`, a line of JSON each (docs/reference/helper.md). No field is a path, a program
//! or a variable; anything that is not listed here is refused.

use becalm_settings::failure::Failure;
use becalm_settings::table::WriteRequest;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::priority::Priorities;

/// The protocol's version.
pub const VERSION: u32 = 1;

/// The longest line, bytes: the places of thousands of CPUs and interrupts are fewer bytes.
pub const LONGEST: usize = 4 << 20;

/// The longest title, in characters.
pub const LONGEST_TITLE: usize = 500;

/// The longest wait for interrupts, s.
pub const LONGEST_WAIT_S: f64 = 3600.0;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The first request.
    Hello {
        protocol: u32,
        /// The purpose of the settings, for root to read.
        #[serde(default)]
        title: String,
        /// The name that the user chose, to distinguish this from others of the same user.
        #[serde(default)]
        owner: String,
        /// The time, s, that interrupts may take, in the background, to be back where they were.
        #[serde(default = "minute")]
        interrupt_wait_s: f64,
    },
    /// Return the data that only root may read and that settings depend on.
    View {},
    /// Apply these settings, and restore all others.
    Switch {
        #[serde(default)]
        writes: Vec<WriteRequest>,
        /// The places that change with them: rows of side effects, and the names that replace `*` there;
        /// without names all that exist.
        #[serde(default)]
        watched: Vec<(usize, Vec<String>)>,
        /// The CPUs that tasks lose, and those that go offline.
        #[serde(default)]
        taken: String,
        #[serde(default)]
        offline: String,
    },
    /// Leave the settings on when this ends, with these names and values in the journal.
    Keep {
        settings: Map<String, Value>,
    },
    /// Restore the settings that are on.
    Release {},
    /// Restore what anybody has left on; `force`: also what somebody else changed, and end the process that
    /// holds the machine; `mine`: only what this user has applied, under the `owner` of `hello`.
    Restore {
        #[serde(default)]
        force: bool,
        #[serde(default)]
        mine: bool,
    },
    /// Return the observations since the last such request.
    Noticed {},
    /// Have programs join the group of settings that an earlier becalm left on.
    JoinKept {},
    /// Put a process of the caller into the group of the settings, and give it these priorities, until the
    /// next `place`.
    Place {
        pid: Option<i32>,
        #[serde(default)]
        priorities: Priorities,
    },
    DropCaches {},
    Bye {},
}

fn minute() -> f64 {
    60.0
}

/// Read one line.
pub fn parse(line: &[u8]) -> Result<Request, Failure> {
    serde_json::from_slice(line)
        .map_err(|error| Failure::new("protocol", format!("A request cannot be understood: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_words_are_accepted() {
        for good in [
            r#"{"do":"hello","protocol":1}"#,
            r#"{"do":"switch","writes":[{"knob":"swappiness","value":"1"}]}"#,
            r#"{"do":"place","pid":7,"priorities":{"nice":"-5"}}"#,
            r#"{"do":"place","pid":null}"#,
        ] {
            assert!(parse(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in [
            r#"{"do":"run","argv":["id"]}"#,
            r#"{"do":"measure","steps":[]}"#,
            r#"{"do":"facts","root":"/"}"#,
            r#"{"do":"hello","protocol":1,"root":"/tmp"}"#,
            r#"{"do":"hello","protocol":1,"environment":{"PATH":"/tmp"}}"#,
            r#"{"do":"hello","protocol":1,"directory":"/"}"#,
            r#"{"do":"switch","writes":[],"root":"/tmp"}"#,
            r#"{"do":"switch","writes":[{"path":"/etc/shadow","value":"x"}]}"#,
            r#"{"do":"switch","writes":[{"knob":"swappiness","value":"1","path":"/etc/shadow"}]}"#,
            r#"{"do":"keep","settings":{},"path":"/etc/shadow"}"#,
            r#"{"do":"drop_caches","path":"/etc/shadow"}"#,
            r#"{"do":"place","pid":7,"group":"/sys/fs/cgroup"}"#,
            r#"{"do":"status","spool":"/x"}"#,
            r#"{"do":"boot","parameters":["init=/bin/sh"],"limit_s":60}"#,
            r#"{"do":"reboot"}"#,
            r#"{"do":"restore","force":"yes"}"#,
            "[]",
            "",
            "{",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
