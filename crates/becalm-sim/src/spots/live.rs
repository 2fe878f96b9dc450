//! Detection on a growing stream: `becalm-sim live` reads one JSON object per line and answers each line at
//! once.
//!
//! The first line selects the process; later ones are records as they arrive, or the wish to move it. The
//! answer to records shows whether to move now. Only open state is kept, so a stream may last for ever. Other
//! programs read the machine and move the process: this one needs no privileges.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::detect::{Detection, Question};
use super::judge::Spot;
use super::record::{Record, Task};
use super::watch::{Decided, Wanted, Watch};

/// A line of input.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line: the process to follow, and the question about it.
    Follow {
        process: Task,
        question: Box<Question>,
    },
    Records(Vec<Record>),
    Want(Wanted),
}

/// The answer to a line.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Going(Going),
    Decided(Decided),
    Error(String),
}

/// The state of the stream when no decision has been made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Going {
    /// The time of the newest record.
    pub now_ns: u64,
    /// The number of windows of the process since the last answer.
    pub windows: usize,
    /// The number of its threads with a known window.
    pub known: usize,
    /// The longest worthwhile wait d_max by the counts since a move has been wanted, ns.
    pub longest_ns: f64,
    /// The sweet spots of the process since the last answer.
    pub spots: Vec<Spot>,
}

/// The state of a followed process.
#[derive(Debug)]
pub struct Live {
    detection: Detection,
    watch: Watch,
    process: Task,
}

impl Live {
    /// Follow a process.
    ///
    /// # Errors
    /// Returns a sentence about invalid rules.
    pub fn new(process: Task, question: Question) -> Result<Self, String> {
        let watch = Watch::new(question.waiting.clone(), process);
        Ok(Self { detection: Detection::new(question)?, watch, process })
    }

    /// Process the next records.
    pub fn feed(&mut self, records: &[Record]) -> Answer {
        self.detection.feed(records);
        let (windows, spots) = self.detection.ready();
        let programs = self.detection.programs();
        if let Some(decided) = self.watch.follow(&windows, &spots, programs) {
            return Answer::Decided(decided);
        }
        let ours = |number: usize| programs.get(number).is_some_and(|each| each.process == self.process);
        Answer::Going(Going {
            now_ns: self.detection.now_ns(),
            windows: windows.iter().filter(|each| ours(each.0.program)).count(),
            known: self.watch.known(),
            longest_ns: self.watch.longest_ns(),
            spots: spots.into_iter().filter(|each| ours(each.program)).collect(),
        })
    }

    /// Register a wanted move.
    pub fn want(&mut self, wanted: Wanted) -> Answer {
        if wanted.process != self.process {
            return Answer::Error(format!("Process {} is followed, not {}.", self.process, wanted.process));
        }
        match self.watch.want(wanted) {
            Some(decided) => Answer::Decided(decided),
            None => self.feed(&[]),
        }
    }
}

/// Answer lines until the input ends.
///
/// # Errors
/// Fails if the input cannot be read or an answer cannot be written.
pub fn converse(input: impl BufRead, mut out: impl Write) -> io::Result<()> {
    let mut live: Option<Live> = None;
    for line in input.lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match (serde_json::from_str::<Line>(&line), live.as_mut()) {
            (Err(error), _) => Answer::Error(format!("This is not a line of a stream: {error}.")),
            (Ok(Line::Follow { process, question }), None) => match Live::new(process, *question) {
                Ok(begun) => live.insert(begun).feed(&[]),
                Err(why) => Answer::Error(why),
            },
            (Ok(Line::Follow { .. }), Some(_)) => Answer::Error("A stream is followed already.".to_owned()),
            (Ok(_), None) => Answer::Error("Say first what is followed.".to_owned()),
            (Ok(Line::Records(records)), Some(live)) => live.feed(&records),
            (Ok(Line::Want(wanted)), Some(live)) => live.want(wanted),
        };
        serde_json::to_writer(&mut out, &answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spots::synthetic::{Synthetic, PROGRAM};

    fn answers(lines: &[String]) -> Vec<serde_json::Value> {
        let mut out = Vec::new();
        converse(lines.join("\n").as_bytes(), &mut out).expect("memory");
        let text = String::from_utf8(out).expect("JSON");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    #[test]
    fn each_line_has_an_answer_and_invalid_ones_a_sentence() {
        let lines = [
            r#"{"records":[]}"#,
            r#"{"follow":{"process":7,"question":{}}}"#,
            r#"{"follow":{"process":7,"question":{}}}"#,
            r#"{"recods":[]}"#,
            r#"{"want":{"process":8,"at_ns":0}}"#,
            r#"{"want":{"process":7,"at_ns":0}}"#,
        ]
        .map(str::to_owned);
        let found = answers(&lines);
        let errors: Vec<&str> = found.iter().filter_map(|each| each["error"].as_str()).collect();
        assert_eq!(found.len(), lines.len());
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(errors[0].contains("first") && errors[1].contains("already") && errors[3].contains("not 8"));
        assert_eq!(found[5]["decided"]["why"], "unknown", "nothing was counted");
    }

    #[test]
    fn the_answer_to_the_records_of_a_change_is_to_move() {
        let (records, truth) = Synthetic { seed: 3, noise: 0.05, ..Synthetic::default() }.stream();
        let begins =
            truth.iter().filter(|each| each.kind == 1).map(|each| each.from_ns).nth(2).expect("phases");
        let at_ns = begins - 30_000_000;
        let mut live = Live::new(PROGRAM, Question::default()).expect("defaults");
        let first = records.partition_point(|each| each.time_ns <= at_ns);
        live.feed(&records[..first]);
        let asked = Wanted { process: PROGRAM, at_ns, bounded: false, kinds: vec![1] };
        let mut answer = live.want(asked);
        let mut next = first;
        while matches!(answer, Answer::Going(_)) && next < records.len() {
            answer = live.feed(&records[next..=next]);
            next += 1;
        }
        let Answer::Decided(found) = answer else { panic!("{answer:?}") };
        assert_eq!(found.spot.map(|each| each.kind), Some(1), "{found:?}");
        assert!((begins..begins + 15_000_000).contains(&found.moved_ns), "{found:?}, begins {begins}");
        assert_eq!(found.moved_ns, records[next - 1].time_ns, "decided at the record that closes the window");
    }
}
