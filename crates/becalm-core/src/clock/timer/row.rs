//! A row of the table of timers.

use super::measure::Measure;
use super::{Description, Timer, Unit};

/// The timer, or the reason why it cannot be used here.
pub struct Row {
    /// The timer's description.
    pub description: Description,
    /// The timer, ready.
    pub timer: Result<Box<dyn Measure>, String>,
}

/// Return the row of a timer that may be usable.
pub fn row<T: Timer + 'static, E: std::fmt::Display>(
    name: &'static str,
    unit: Unit,
    meaning: &'static str,
    timer: Result<T, E>,
) -> Row {
    let timer = timer.map(|timer| Box::new(timer) as Box<dyn Measure>).map_err(|reason| reason.to_string());
    Row { description: Description { name, unit, meaning }, timer }
}
