//! The whole evaluation: a statement of trust, then each timer at each flush size, reported as it ends.

use std::path::Path;
use std::time::{Duration, Instant};

use becalm_clock::Clock;

use super::caches::{self, Flush};
use super::effort;
use super::pin;
use super::request::{named, Event, Refused, Request};
use super::rounds::{self, Rounds};
use super::timer::loaded::Loaded;
use super::timer::table;
use super::trust::Trust;
use crate::cpus;
use crate::facts::read::Machine;
use crate::time::{AnyClock, Clock as _};

/// The share of the budget above which the least time of a flush is too much.
const MOST_OF_BUDGET: f64 = 0.75;

/// Evaluate everything that was requested, and report each result at once.
pub fn evaluate(
    request: &Request,
    loaded: &Loaded,
    send: &mut dyn FnMut(&Event) -> std::io::Result<()>,
) -> Result<(), Refused> {
    let time = AnyClock::System;
    let begun_ns = time.now_ns();
    let (filter, published) = (request.filter()?, request.published()?);
    let allowed = pin::allowed();
    let cpu = request.cpu.or(allowed.last().copied()).unwrap_or(0);
    // The kernel lets a process leave the processors that taskset gave it, but that was not intended.
    if request.cpu.is_some() && !allowed.contains(&cpu) {
        let reason = format!("this process may use {}", cpus::list(&allowed.iter().copied().collect()));
        return Err(Refused::Cpu { cpu, reason });
    }
    let pinned = pin::to(cpu);
    if let (Some(_), Err(reason)) = (request.cpu, &pinned) {
        return Err(Refused::Cpu { cpu, reason: reason.to_string() });
    }
    let clock = Clock::open().map_err(Refused::Clock)?;
    // Names come first: an invalid one is reported at once, even on a machine that is too busy to measure.
    let rows = named(
        table::rows(clock.info().fallback, loaded),
        |row| row.description.name,
        &request.timers,
        "timer",
    )?;
    let machine = Machine::new(Path::new("/"));
    let written = caches::rows(&machine, cpu, caches::available(&machine));
    let written = named(written, |row| row.name, &request.flushes, "flush")?;
    let check = rounds::checked()?;
    let trust = Trust::collect(&clock, check, cpu, pinned.is_ok(), &allowed);
    let doubts = trust.doubts();
    send(&Event::Trust { trust: Box::new(trust), doubts })?;

    let mut timers = Vec::new();
    for row in rows {
        match row.timer {
            Ok(timer) => timers.push((row.description, timer)),
            Err(reason) => {
                send(&Event::Absent { timer: Some(row.description.name), flush: None, reason })?;
            }
        }
    }
    let budget = Duration::from_nanos(request.budget_ns);
    let flushes = affordable(written, timers.len(), budget, send)?;
    let cells: Vec<(usize, usize)> = (0..flushes.len())
        .flat_map(|flush| (0..timers.len()).map(move |timer| (flush, timer)))
        .filter(|(flush, timer)| {
            let is =
                |done: &(String, String)| done.0 == timers[*timer].0.name && done.1 == flushes[*flush].0.name;
            !request.done.iter().any(is)
        })
        .collect();
    send(&Event::Planned { cells: cells.len() })?;
    let rounds = Rounds {
        timers: &timers,
        flushes: &flushes,
        clock: &clock,
        filter,
        published,
        seed: request.seed,
        cpu,
        time: time.clone(),
        begun_ns,
        budget,
        check: rounds::checked,
    };
    rounds.measure(cells, send)?;
    send(&Event::Done { elapsed_ns: time.since(begun_ns).as_nanos() as u64 })?;
    Ok(())
}

/// Return the flushes that the budget allows, with the time of one flush.
fn affordable(
    rows: Vec<Flush>,
    timers: usize,
    budget: Duration,
    send: &mut dyn FnMut(&Event) -> std::io::Result<()>,
) -> Result<Vec<(Flush, Duration)>, Refused> {
    let mut found = Vec::new();
    for row in rows {
        let mut reason = row.reason.clone();
        let mut time = Duration::ZERO;
        if reason.is_none() && row.bytes > 0 {
            let mut buffer = row.buffer();
            buffer.away(&[]);
            let began = Instant::now();
            (0..3).for_each(|_| buffer.away(&[]));
            time = began.elapsed() / 3;
            let least = effort::least(time) * timers.max(1) as u32;
            if least > budget.mul_f64(MOST_OF_BUDGET) {
                reason = Some(format!(
                    "writing {} MiB takes {:.1} ms, before each measurement: with a budget of {} s or more, or fewer \
                     timers, it can be done",
                    row.bytes >> 20,
                    time.as_secs_f64() * 1e3,
                    (least.as_secs_f64() / MOST_OF_BUDGET) as u64 + 1,
                ));
            }
        }
        match reason {
            Some(reason) => send(&Event::Absent { timer: None, flush: Some(row.name), reason })?,
            None => found.push((row, time)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        serde_json::from_str(text).unwrap()
    }

    const SMALL: &str = r#"{"budget_ns": 300000000, "filter": "robust", "search": "grid", "seed": 1,
        "timers": ["barrier", "cycles"], "flushes": ["L1"]}"#;

    fn events(request: &Request) -> Result<Vec<Event>, Refused> {
        let mut events = Vec::new();
        evaluate(request, &Loaded::default(), &mut |event| {
            events.push(event.clone());
            Ok(())
        })?;
        Ok(events)
    }

    #[test]
    fn events_are_sent_in_order_with_each_cell() {
        let events = match events(&request(SMALL)) {
            Ok(events) => events,
            // The chain may fail on a machine under load; then there is no other event.
            Err(Refused::Chain { ratio }) => return assert!((ratio - 3.0).abs() > 0.03),
            Err(other) => panic!("{other}"),
        };
        assert!(matches!(events.first(), Some(Event::Trust { .. })), "{events:?}");
        assert!(matches!(events.last(), Some(Event::Done { .. })), "{events:?}");
        let cell = events.iter().find_map(|event| match event {
            Event::Cell(cell) if cell.timer == "barrier" => Some(cell),
            _ => None,
        });
        match cell {
            Some(cell) => {
                assert!(cell.smallest_cost >= 0.0 && cell.many > 0);
                assert_eq!(cell.t_min.is_some(), cell.no_t_min.is_none());
            }
            // The chain is checked before each cell, too.
            None => assert!(
                events
                    .iter()
                    .any(|event| matches!(event, Event::Absent { timer: Some("barrier"), reason, .. }
                    if reason.contains("additions"))),
                "{events:?}"
            ),
        }
        let text = serde_json::to_value(&events[0]).unwrap();
        assert_eq!(text["event"], "trust");
        assert!(text["trust"]["hz"].is_number());
    }

    #[test]
    fn finished_cells_are_not_measured_again() {
        let mut wanted = request(SMALL);
        wanted.done = vec![("barrier".into(), "L1".into()), ("cycles".into(), "L1".into())];
        match events(&wanted) {
            Ok(events) => assert!(events.contains(&Event::Planned { cells: 0 }), "{events:?}"),
            Err(Refused::Chain { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn words_that_name_nothing_are_refused() {
        for (field, bad) in
            [("filter", "magic"), ("search", "bisection"), ("timers", "sundial"), ("flushes", "L9")]
        {
            let mut wanted = request(SMALL);
            match field {
                "filter" => wanted.filter = bad.into(),
                "search" => wanted.search = bad.into(),
                "timers" => wanted.timers = vec![bad.into()],
                _ => wanted.flushes = vec![bad.into()],
            }
            match events(&wanted) {
                Err(Refused::Unknown { what, known, .. }) => assert!(what == bad && !known.is_empty()),
                other => panic!("{other:?}"),
            }
        }
        let mut wanted = request(SMALL);
        wanted.cpu = Some(60_000);
        match events(&wanted) {
            Err(Refused::Cpu { cpu: 60_000, reason }) => {
                assert!(reason.starts_with("this process may use "), "{reason}")
            }
            other => panic!("{other:?}"),
        }
        assert!(serde_json::from_str::<Request>(r#"{"budget": 1}"#).is_err());
    }
}
