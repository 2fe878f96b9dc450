//! When a running program moves cheaply: from records of switches with two counters per CPU to sweet spots.
//!
//! `record` has the noun that every source makes: the cache simulator, synthetic streams, and whatever reads a machine.
//! `account` and `tasks` make logical counters per `program` of them, `window` is one such count, `rules` all thresholds,
//! `change` and `judge` decide, `detect` puts it together, `cost` and `wait` say what moving cost and how long to wait for
//! it, `watch` and `live` decide the same of a process while its stream goes on. `synthetic` makes streams whose truth is known. `answer` answers a line of `becalm-sim spots`.
//! Source: K. Tabere, Migration Sweetspots, diploma thesis, TU Dresden 2013.

pub mod account;
pub mod change;
pub mod cost;
pub mod detect;
pub mod judge;
pub mod live;
pub mod program;
pub mod record;
pub mod rules;
pub mod synthetic;
pub mod tasks;
pub mod wait;
pub mod watch;
pub mod window;

use serde::{Deserialize, Serialize};

pub use detect::{Detection, Found, Question};
pub use record::{Record, Task, What, IDLE};
pub use rules::Rules;

use detect::Mark;
use synthetic::{Synthetic, Truth};
use window::Window;

/// What is asked: a stream, and what of it. `{"from": {"synthetic": {"seed": 1}}, "question": {}}`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub from: From,
    #[serde(default)]
    pub question: Question,
}

/// Where the stream comes from.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum From {
    Records(Vec<Record>),
    Counted(Counted),
    Synthetic(Synthetic),
}

/// Windows that somebody else counted: `[start, end, own references, own misses, others' references, others' misses, known]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    pub task: Task,
    pub windows: Vec<(u64, u64, u64, u64, u64, u64, bool)>,
    /// Times of marks.
    #[serde(default)]
    pub marks: Vec<u64>,
    /// Whether the program ended with the last window.
    #[serde(default)]
    pub ended: bool,
}

/// What is answered: what was found, beside the truth where that is known.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Spots {
        #[serde(flatten)]
        found: Box<Found>,
        #[serde(skip_serializing_if = "Option::is_none")]
        truth: Option<Vec<Truth>>,
    },
    Error(String),
}

/// Answer a line.
pub fn answer(line: &str) -> Answer {
    match serde_json::from_str::<Request>(line) {
        Err(error) => Answer::Error(format!("This is no request: {error}.")),
        Ok(request) => answered(request).unwrap_or_else(Answer::Error),
    }
}

fn answered(request: Request) -> Result<Answer, String> {
    let mut detection = Detection::new(request.question)?;
    let (found, truth) = match request.from {
        From::Records(records) => {
            detection.feed(&records);
            (detection.finish(), None)
        }
        From::Counted(counted) => (of_windows(detection, &counted)?, None),
        From::Synthetic(asked) => {
            asked.check()?;
            let (records, truth) = asked.stream();
            detection.feed(&records);
            (detection.finish(), Some(truth))
        }
    };
    Ok(Answer::Spots { found: Box::new(found), truth })
}

fn of_windows(detection: Detection, counted: &Counted) -> Result<Found, String> {
    let count = counted.windows.len();
    let mut windows = Vec::with_capacity(count);
    let mut before = 0;
    for (number, &(start_ns, end_ns, references, misses, of_others, missed, known)) in
        counted.windows.iter().enumerate()
    {
        if end_ns < start_ns || start_ns < before {
            return Err(format!(
                "Window {} ends before it begins, or begins before the one before it ends.",
                number + 1
            ));
        }
        before = end_ns;
        let last = counted.ended && number + 1 == count;
        let (own, others) = ((references, misses).into(), (of_others, missed).into());
        windows.push(Window { program: 0, start_ns, end_ns, own, others, known, last });
    }
    let marks: Vec<Mark> =
        counted.marks.iter().map(|&time_ns| Mark { program: 0, time_ns, number: 1 }).collect();
    Ok(detection.of_windows(counted.task, &windows, &marks))
}
