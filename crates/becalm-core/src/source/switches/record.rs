//! `Record`, what one CPU said at one moment, in the JSON form that `becalm-sim spots` reads.

use std::io::Write;

/// Thread ids; 0 is the idle task.
pub type Task = u32;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Switch {
        out: Task,
        to: Task,
        preempted: bool,
    },
    Tick,
    /// Of threads that were there before, `parent` is 0.
    Fork {
        parent: Task,
        child: Task,
        process: Task,
    },
    Exec(Task),
    Exit(Task),
    /// Records of this CPU were lost before this one.
    Lost,
    /// The CPU counts no longer, or its counters begin anywhere with its next record.
    Offline,
}

/// One moment of one CPU; both counters are cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// CLOCK_MONOTONIC_RAW.
    pub time_ns: u64,
    pub cpu: u32,
    pub what: What,
    pub references: u64,
    pub misses: u64,
}

impl Record {
    /// Append its JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Self { time_ns, cpu, what, references, misses } = self;
        // Writing to memory does not fail.
        let _ = write!(out, "{{\"time_ns\":{time_ns},\"cpu\":{cpu},\"what\":");
        let _ = match what {
            What::Switch { out: left, to, preempted } => {
                write!(out, "{{\"switch\":{{\"out\":{left},\"to\":{to},\"preempted\":{preempted}}}}}")
            }
            What::Tick => write!(out, "\"tick\""),
            What::Fork { parent, child, process } => {
                write!(out, "{{\"fork\":{{\"parent\":{parent},\"child\":{child},\"process\":{process}}}}}")
            }
            What::Exec(task) => write!(out, "{{\"exec\":{{\"task\":{task}}}}}"),
            What::Exit(task) => write!(out, "{{\"exit\":{{\"task\":{task}}}}}"),
            What::Lost => write!(out, "\"lost\""),
            What::Offline => write!(out, "\"offline\""),
        };
        let _ = write!(out, ",\"references\":{references},\"misses\":{misses}}}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_form_of_the_detector() {
        let said = |what| {
            let mut out = Vec::new();
            Record { time_ns: 5, cpu: 1, what, references: 100, misses: 9 }.write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            said(What::Switch { out: 7, to: 0, preempted: true }),
            r#"{"time_ns":5,"cpu":1,"what":{"switch":{"out":7,"to":0,"preempted":true}},"references":100,"misses":9}"#
        );
        for (what, form) in [
            (What::Tick, r#""tick""#),
            (
                What::Fork { parent: 0, child: 3, process: 2 },
                r#"{"fork":{"parent":0,"child":3,"process":2}}"#,
            ),
            (What::Exec(4), r#"{"exec":{"task":4}}"#),
            (What::Exit(4), r#"{"exit":{"task":4}}"#),
            (What::Lost, r#""lost""#),
            (What::Offline, r#""offline""#),
        ] {
            let text = said(what);
            assert!(text.contains(&format!("\"what\":{form},")), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
    }
}
