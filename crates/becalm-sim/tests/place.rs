//! Placement requests as Python makes them: their results, and rejections with a reason.

use becalm_sim::place::{answer, Answer};
use becalm_sim::random::Random;
use serde_json::{json, Value};

fn asked(request: &Value) -> Answer {
    answer(&request.to_string())
}

fn placed(request: &Value) -> (Vec<usize>, f64, bool) {
    match asked(request) {
        Answer::Placed { chips, value, out_of_time, .. } => (chips, value, out_of_time),
        other => panic!("{other:?}"),
    }
}

fn pairs(count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|one| (0..count).map(|other| if one == other { 0.0 } else { random.share() }).collect())
        .collect()
}

/// Return the cost of a placement, in which each job costs its slowest process.
fn worth(pairs: &[Vec<f64>], job: &[usize], away: &[Vec<f64>], chips: &[usize]) -> f64 {
    let jobs = job.iter().max().map_or(0, |most| most + 1);
    let mut slowest = vec![0.0f64; jobs];
    for one in 0..job.len() {
        let lost: f64 =
            (0..job.len()).filter(|&other| chips[other] == chips[one]).map(|other| pairs[one][other]).sum();
        let lost = lost + if away.is_empty() { 0.0 } else { away[one][chips[one]] };
        slowest[job[one]] = slowest[job[one]].max(lost);
    }
    slowest.iter().sum()
}

fn every(rooms: &[usize], items: usize) -> Vec<Vec<usize>> {
    let all = rooms.len().pow(items as u32);
    let sharings = (0..all)
        .map(|code| (0..items).map(|item| code / rooms.len().pow(item as u32) % rooms.len()).collect());
    let fits = |chips: &Vec<usize>| {
        rooms.iter().enumerate().all(|(chip, &room)| chips.iter().filter(|&&at| at == chip).count() <= room)
    };
    sharings.filter(fits).collect()
}

#[test]
fn exchanges_find_the_best_placement_of_few_processes() {
    for (rooms, job, far) in [
        (vec![3, 3], vec![0, 1, 2, 3, 4, 5], false),
        (vec![2, 1, 3], vec![0, 1, 2, 3, 4], true),
        (vec![3, 3], vec![0, 0, 1, 1, 2, 2], false),
        (vec![2, 2, 2], vec![0, 0, 0, 1, 2], true),
    ] {
        let items = job.len();
        let cost = pairs(items, 7);
        let away: Vec<Vec<f64>> = if far {
            (0..items)
                .map(|item| (0..rooms.len()).map(|chip| 0.3 * ((item + chip) % 2) as f64).collect())
                .collect()
        } else {
            Vec::new()
        };
        let start = every(&rooms, items).swap_remove(0);
        let request = json!({"swap": {"rooms": rooms, "job": job, "pairs": cost, "away": away, "start": start,
            "starts": 30, "seed": 1, "budget_ms": 60_000}});
        let (chips, value, late) = placed(&request);
        let least = every(&rooms, items)
            .iter()
            .map(|chips| worth(&cost, &job, &away, chips))
            .fold(f64::INFINITY, f64::min);
        assert!((value - worth(&cost, &job, &away, &chips)).abs() < 1e-9, "{chips:?} {value}");
        assert!((value - least).abs() < 1e-9 && !late, "{rooms:?} {job:?}: {value} {least}");
        assert_eq!(placed(&request).0, chips);
    }
}

#[test]
fn groups_with_the_least_costs_are_grown() {
    let (items, room) = (96, 4);
    let mut cost = pairs(items, 5);
    for (one, row) in cost.iter_mut().enumerate() {
        for (other, each) in row.iter_mut().enumerate() {
            // Members of a group lie apart, so that the order of the input does not help.
            *each = match one % (items / room) == other % (items / room) {
                _ if one == other => 0.0,
                true => 0.001,
                false => 0.002 + *each,
            };
        }
    }
    let start: Vec<usize> = (0..items).map(|each| each / room).collect();
    let request = json!({"swap": {"rooms": vec![room; items / room], "job": (0..items).collect::<Vec<_>>(),
        "pairs": cost, "away": [], "start": start, "starts": 2, "seed": 1, "budget_ms": 60_000}});
    let (_, value, late) = placed(&request);
    assert!(!late && (value - 0.001 * (items * (room - 1)) as f64).abs() < 1e-9, "{value}");
}

#[test]
fn costs_of_sets_and_of_pairs_agree_if_pairs_add_up() {
    let (rooms, job) = (vec![2, 2], vec![0, 1, 2, 3]);
    let cost = pairs(4, 2);
    let sets: Vec<(u64, Vec<f64>)> = (0..16u64)
        .filter(|bits| bits.count_ones() <= 2)
        .map(|bits| {
            let members: Vec<usize> = (0..4).filter(|item| bits >> item & 1 == 1).collect();
            (bits, members.iter().map(|&one| members.iter().map(|&other| cost[one][other]).sum()).collect())
        })
        .collect();
    let by = |kind: &str, costs: Value| {
        let mut swap = json!({"rooms": rooms, "job": job, "start": [0, 0, 1, 1], "starts": 5, "seed": 3, "budget_ms": 60_000});
        swap[kind] = costs;
        placed(&json!({"swap": swap})).1
    };
    assert!((by("sets", json!(sets)) - by("pairs", json!(cost))).abs() < 1e-12);
}

#[test]
fn running_out_of_time_is_reported() {
    let count = 400;
    let start: Vec<usize> = (0..count).map(|item| item / 8).collect();
    let request = json!({"swap": {"rooms": vec![8; 50], "job": (0..count).collect::<Vec<_>>(), "pairs": pairs(count, 1),
        "start": start, "starts": 9, "seed": 1, "budget_ms": 0}});
    let (chips, _, late) = placed(&request);
    assert!(late);
    assert!((0..50).all(|chip| chips.iter().filter(|&&at| at == chip).count() == 8));
}

#[test]
fn a_table_is_decided_at_once() {
    let sets: Vec<(u32, f64)> =
        (0..16u32).filter(|set| set.count_ones() == 2).map(|set| (set, f64::from(set))).collect();
    let request =
        json!({"optimal": {"items": 4, "tables": [sets], "kind": [0, 0], "alike": true, "repeat": 3}});
    assert_eq!(placed(&request), (vec![0, 0, 1, 1], 15.0, false));
}

#[test]
fn inference_gives_the_outputs_of_the_weights() {
    let layers = json!([{"weights": [[1.0, 2.0]], "bias": [0.5], "activation": "tanh"},
        {"weights": [[3.0], [-3.0]], "bias": [0.0, 0.0], "activation": "sigmoid"}]);
    let request = json!({"infer": {"model": {"shift": [1.0, 0.0], "scale": [2.0, 1.0], "layers": layers}, "rows": [[1.5, -0.5]]}});
    let Answer::Inferred { outputs, .. } = asked(&request) else { panic!("no output") };
    let hidden = (1.0f64 - 1.0 + 0.5).tanh();
    assert!((outputs[0][0] - 1.0 / (1.0 + (-3.0 * hidden).exp())).abs() < 1e-12);
    assert!((outputs[0][0] + outputs[0][1] - 1.0).abs() < 1e-12);
    let svm =
        json!({"vectors": [[0.0], [1.0]], "coefficients": [1.0, -2.0], "intercept": 0.25, "gamma": 0.5});
    let request = json!({"infer": {"model": {"shift": [0.0], "scale": [1.0], "svm": svm}, "rows": [[1.0]]}});
    let Answer::Inferred { outputs, .. } = asked(&request) else { panic!("no output") };
    assert!((outputs[0][0] - ((-0.5f64).exp() - 2.0 + 0.25)).abs() < 1e-12);
}

#[test]
fn inconsistent_requests_are_rejected_with_a_reason() {
    let swap = |key: &str, value: Value| {
        let mut whole = json!({"rooms": [1, 1], "job": [0, 1], "pairs": [[0, 1], [1, 0]], "start": [0, 1], "starts": 1,
            "seed": 0, "budget_ms": 10});
        whole[key] = value;
        json!({"swap": whole})
    };
    let optimal = |items: u32, sets: Value, kind: Value| json!({"optimal": {"items": items, "tables": [sets], "kind": kind, "alike": true}});
    let model = json!({"shift": [0.0], "scale": [1.0], "layers": [{"weights": [[1.0, 2.0]], "bias": [0.0], "activation": "tanh"}]});
    for (request, why) in [
        (json!({"best": {}}), "not a request"),
        (swap("start", json!([0, 5])), "a chip that there is not"),
        (swap("start", json!([0, 0])), "does not fit"),
        (swap("pairs", json!([[0, 1]])), "need costs of sets"),
        (swap("away", json!([[0.0]])), "needs a row for each"),
        (swap("sets", json!([[3, [0.1]]])), "do not fit to each other"),
        (optimal(0, json!([]), json!([0])), "1 to 20 processes, not 0"),
        (optimal(2, json!([[9, 0.0]]), json!([0])), "a process that there is not"),
        (optimal(2, json!([[3, 0.0]]), json!([])), "needs a table"),
        (optimal(3, json!([[3, 0.0]]), json!([0, 0])), "No sharing uses only sets"),
        (
            json!({"cheapest": {"both": [[0.0]], "prices": [1.0], "size": 2, "budget_ms": 1}}),
            "a size from 1 to 1",
        ),
        (json!({"infer": {"model": model, "rows": [[1.0]]}}), "do not fit rows of 1 numbers"),
    ] {
        let Answer::Error(message) = asked(&request) else { panic!("{request} was answered") };
        assert!(message.contains(why) && message.ends_with('.'), "{message}");
    }
}
