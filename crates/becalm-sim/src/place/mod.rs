//! Placement of processes on chips, where it must be fast: requests of `becalm-sim place`, one JSON object
//! per line.
//!
//! `{"optimal": …}` is answered by the best placement (`subsets`), `{"swap": …}` by that of a local search
//! (`swap`), `{"cheapest": …}` by the cheapest set of a column generation (`column`), and `{"infer": …}` by
//! the outputs of trained weights (`learned`). Callers have checked tasks and costs; inconsistent requests
//! are rejected here with a sentence, too.

pub mod column;
pub mod learned;
pub mod subsets;
pub mod swap;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// A request.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    Optimal(Optimal),
    Swap(Swap),
    Cheapest(Cheapest),
    Infer(Infer),
}

/// A request for the best placement by costs of sets: a table for each kind of chip, and the kind of each
/// chip.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimal {
    pub items: usize,
    pub tables: Vec<Vec<(u32, f64)>>,
    pub kind: Vec<usize>,
    pub alike: bool,
    /// The number of repetitions, from which the mean time of a decision is taken.
    #[serde(default = "once")]
    pub repeat: u32,
}

fn once() -> u32 {
    1
}

/// A request for a local search from `start`. `pairs` is a matrix of each process's degradation next to each
/// other; or `sets` has bit sets with the degradation of their members in ascending order.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swap {
    pub rooms: Vec<usize>,
    pub job: Vec<usize>,
    #[serde(default)]
    pub pairs: Vec<Vec<f64>>,
    #[serde(default)]
    pub sets: Vec<(u64, Vec<f64>)>,
    #[serde(default)]
    pub away: Vec<Vec<f64>>,
    pub start: Vec<usize>,
    pub starts: usize,
    pub seed: u64,
    pub budget_ms: u64,
}

/// A request for the cheapest set of `size` items: costs of pairs in both directions minus the price of each
/// item.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cheapest {
    pub both: Vec<Vec<f64>>,
    pub prices: Vec<f64>,
    pub size: usize,
    pub budget_ms: u64,
}

/// A request for the outputs of trained weights for rows of inputs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Infer {
    pub model: learned::Model,
    pub rows: Vec<Vec<f64>>,
}

/// An answer; times are those of one decision or one row, ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Placed { chips: Vec<usize>, value: f64, decision_ns: f64, starts: usize, out_of_time: bool },
    Cheapest { sets: Vec<Vec<usize>>, value: f64, bound: f64 },
    Inferred { outputs: Vec<Vec<f64>>, row_ns: f64 },
    Error(String),
}

/// Answer a line.
pub fn answer(line: &str) -> Answer {
    match serde_json::from_str(line) {
        Err(error) => Answer::Error(format!("This is not a request: {error}.")),
        Ok(request) => answered(request).unwrap_or_else(Answer::Error),
    }
}

fn answered(request: Request) -> Result<Answer, String> {
    match request {
        Request::Optimal(asked) => optimal(&asked),
        Request::Swap(asked) => swapped(asked),
        Request::Cheapest(asked) => cheapest(&asked),
        Request::Infer(asked) => inferred(&asked),
    }
}

fn optimal(asked: &Optimal) -> Result<Answer, String> {
    if asked.items == 0 || asked.items > subsets::MOST_ITEMS {
        return Err(format!("A table is of 1 to {} processes, not {}.", subsets::MOST_ITEMS, asked.items));
    }
    if asked.kind.is_empty() || asked.kind.iter().any(|&kind| kind >= asked.tables.len()) {
        return Err("Each chip needs a table.".to_owned());
    }
    if asked.tables.iter().flatten().any(|&(set, _)| set >> asked.items != 0) {
        return Err("A set has a process that there is not.".to_owned());
    }
    let tables: Vec<_> = asked.tables.iter().map(|sets| subsets::Table::new(asked.items, sets)).collect();
    let begun = Instant::now();
    let mut found = None;
    for _ in 0..asked.repeat.max(1) {
        found = std::hint::black_box(subsets::optimal(asked.items, &tables, &asked.kind, asked.alike));
    }
    let decision_ns = begun.elapsed().as_nanos() as f64 / f64::from(asked.repeat.max(1));
    let (value, sets) = found.ok_or("No sharing uses only sets whose costs are known.")?;
    let mut chips = vec![0; asked.items];
    for (chip, set) in sets.iter().enumerate() {
        (0..asked.items).filter(|item| set >> item & 1 == 1).for_each(|item| chips[item] = chip);
    }
    Ok(Answer::Placed { chips, value, decision_ns, starts: 1, out_of_time: false })
}

fn swapped(asked: Swap) -> Result<Answer, String> {
    let items = asked.job.len();
    let mut used = vec![0; asked.rooms.len()];
    for &chip in &asked.start {
        *used.get_mut(chip).ok_or("A process starts on a chip that there is not.")? += 1;
    }
    let square = asked.pairs.iter().all(|row| row.len() == items);
    if asked.start.len() != items || used.iter().zip(&asked.rooms).any(|(used, room)| used > room) {
        return Err("The sharing to start from does not fit on the chips.".to_owned());
    }
    if !square || (asked.sets.is_empty() && asked.pairs.len() != items) {
        return Err(format!(
            "{items} processes need costs of sets, or {items} rows of {items} costs of pairs."
        ));
    }
    if asked.away.iter().any(|row| row.len() != asked.rooms.len())
        || !(asked.away.is_empty() || asked.away.len() == items)
    {
        return Err(
            "What processes lose away from their memory needs a row for each, and a number for each chip."
                .to_owned(),
        );
    }
    let fits = |(bits, costs): &(u64, Vec<f64>)| {
        bits.count_ones() as usize == costs.len() && (items >= 64 || bits >> items == 0)
    };
    if !asked.sets.iter().all(fits) || (!asked.sets.is_empty() && items > 64) {
        return Err("A set of processes and its costs do not fit to each other.".to_owned());
    }
    let costs = if asked.sets.is_empty() {
        swap::Costs::Pairs(asked.pairs.concat())
    } else {
        swap::Costs::Sets(asked.sets.into_iter().collect::<HashMap<_, _>>())
    };
    let problem = swap::Problem { rooms: asked.rooms, job: asked.job, costs, away: asked.away.concat() };
    let begun = Instant::now();
    let until = begun + Duration::from_millis(asked.budget_ms);
    let found = swap::search(&problem, &asked.start, asked.starts, asked.seed, until);
    Ok(Answer::Placed {
        chips: found.chips,
        value: found.value,
        decision_ns: begun.elapsed().as_nanos() as f64,
        starts: found.starts,
        out_of_time: found.out_of_time,
    })
}

fn cheapest(asked: &Cheapest) -> Result<Answer, String> {
    let items = asked.prices.len();
    if asked.both.len() != items
        || asked.both.iter().any(|row| row.len() != items)
        || !(1..=items).contains(&asked.size)
    {
        return Err(format!(
            "{items} prices need {items} rows of {items} costs, and a size from 1 to {items}."
        ));
    }
    let until = Instant::now() + Duration::from_millis(asked.budget_ms);
    let found = column::cheapest(&asked.both, &asked.prices, asked.size, until);
    Ok(Answer::Cheapest { sets: found.sets, value: found.value, bound: found.bound })
}

fn inferred(asked: &Infer) -> Result<Answer, String> {
    for row in &asked.rows {
        asked.model.check(row.len())?;
    }
    let begun = Instant::now();
    let outputs: Vec<_> = asked.rows.iter().map(|row| asked.model.infer(row)).collect();
    let row_ns = begun.elapsed().as_nanos() as f64 / asked.rows.len().max(1) as f64;
    Ok(Answer::Inferred { outputs, row_ns })
}
