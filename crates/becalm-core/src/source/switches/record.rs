//! A record of one CPU at one moment, in the JSON form that `becalm-sim spots` reads.

/// A thread id; 0 is the idle task.
pub type Task = u32;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Switch {
        out: Task,
        to: Task,
        preempted: bool,
    },
    Tick,
    /// A fork; `parent` is 0 for threads that existed before.
    Fork {
        parent: Task,
        child: Task,
        process: Task,
    },
    Exec(Task),
    Exit(Task),
    /// Records of this CPU were lost before this one.
    Lost,
    /// The CPU does not count any more, or its counters begin anywhere with its next record.
    Offline,
}

/// One moment of one CPU; both counters are cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The time by CLOCK_MONOTONIC_RAW.
    pub time_ns: u64,
    pub cpu: u32,
    pub what: What,
    pub references: u64,
    pub misses: u64,
}

impl Record {
    /// Append its JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Self { time_ns, cpu, what, references, misses } = *self;
        fields(out, &[("{\"time_ns\":", time_ns), (",\"cpu\":", cpu.into())]);
        out.extend_from_slice(b",\"what\":");
        match what {
            What::Switch { out: left, to, preempted } => {
                fields(out, &[("{\"switch\":{\"out\":", left.into()), (",\"to\":", to.into())]);
                out.extend_from_slice(b",\"preempted\":");
                out.extend_from_slice(if preempted { b"true}}" } else { b"false}}" });
            }
            What::Tick => out.extend_from_slice(b"\"tick\""),
            What::Fork { parent, child, process } => {
                let head = ("{\"fork\":{\"parent\":", parent.into());
                fields(out, &[head, (",\"child\":", child.into()), (",\"process\":", process.into())]);
                out.extend_from_slice(b"}}");
            }
            What::Exec(task) => {
                fields(out, &[("{\"exec\":{\"task\":", task.into())]);
                out.extend_from_slice(b"}}");
            }
            What::Exit(task) => {
                fields(out, &[("{\"exit\":{\"task\":", task.into())]);
                out.extend_from_slice(b"}}");
            }
            What::Lost => out.extend_from_slice(b"\"lost\""),
            What::Offline => out.extend_from_slice(b"\"offline\""),
        }
        fields(out, &[(",\"references\":", references), (",\"misses\":", misses)]);
        out.push(b'}');
    }
}

/// Append texts, each followed by a number. Formatting by `write!` takes several times as long, thousands of
/// times per second.
fn fields(out: &mut Vec<u8>, fields: &[(&str, u64)]) {
    for (text, number) in fields {
        out.extend_from_slice(text.as_bytes());
        // A number of 64 bits has at most 20 digits.
        let mut digits = [0; 20];
        let (mut rest, mut at) = (*number, digits.len());
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&digits[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_form_of_the_detector() {
        let written = |what| {
            let mut out = Vec::new();
            Record { time_ns: 5, cpu: 1, what, references: 100, misses: 9 }.write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            written(What::Switch { out: 7, to: 0, preempted: true }),
            r#"{"time_ns":5,"cpu":1,"what":{"switch":{"out":7,"to":0,"preempted":true}},"references":100,"misses":9}"#
        );
        let mut widest = Vec::new();
        fields(&mut widest, &[("", u64::MAX), (" ", 0)]);
        assert_eq!(widest, format!("{} 0", u64::MAX).into_bytes());
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
            let text = written(what);
            assert!(text.contains(&format!("\"what\":{form},")), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
    }
}
