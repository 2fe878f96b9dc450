//! A request for a kernel: a value of each of its parameters.

use super::marks::Marks;
use super::{Parameter, Row, Unit, Usual};

/// A kernel with a value for each of its parameters, in the order of its row.
#[derive(Debug)]
pub struct Given {
    pub row: &'static Row,
    values: Vec<u64>,
    /// The place for marks of its pieces of work.
    pub marks: Marks,
}

/// The limit of numbers in a request, so that no product of two of them with a line overflows.
const MOST: u64 = 1 << 53;

impl Given {
    /// Build a request from names and values. `cache` is the size of the last-level cache in bytes; default sizes are
    /// parts of it, and never more than `limit`. An error is a sentence.
    pub fn of(row: &'static Row, asked: &[(String, u64)], cache: u64, limit: u64) -> Result<Given, String> {
        if let Some((name, _)) =
            asked.iter().find(|(name, _)| !row.parameters.iter().any(|each| each.name == name))
        {
            return Err(format!(
                "The kernel {} has no parameter {name:?}. It has {}.",
                row.name,
                row.names()
            ));
        }
        let values =
            row.parameters.iter().map(|each| match asked.iter().rev().find(|(name, _)| name == each.name) {
                Some((_, value)) if each.unit == Unit::Switch && *value > 1 => {
                    Err(format!("{} of the kernel {} is 0 or 1, not {value}.", each.name, row.name))
                }
                Some((_, value)) if (each.least..MOST).contains(value) => Ok(*value),
                Some((_, value)) => Err(format!(
                    "{} of the kernel {} cannot be {value}: it is {} and less than {MOST}.",
                    each.name,
                    row.name,
                    each.from()
                )),
                None => Ok(match each.usual {
                    Usual::Number(number) => number,
                    Usual::Cache { times, parts } => {
                        (cache.saturating_mul(times) / parts).min(limit).max(each.least)
                    }
                }),
            });
        Ok(Given { row, values: values.collect::<Result<_, _>>()?, marks: Marks::default() })
    }

    /// Return the value of a parameter; 0 for a name that is not in its row.
    pub fn number(&self, name: &str) -> u64 {
        let place = self.row.parameters.iter().position(|each| each.name == name);
        place.and_then(|place| self.values.get(place)).copied().unwrap_or(0)
    }

    /// Return the amount of work: the value of a parameter, or no limit if that is requested.
    pub fn amount(&self, name: &str) -> u64 {
        if self.number("endless") == 1 {
            u64::MAX
        } else {
            self.number(name)
        }
    }

    /// Return names and values, in the order of the row.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let numbers = self.row.parameters.iter().zip(self.values.iter().copied());
        numbers.filter(|(each, _)| each.unit != Unit::File).map(|(each, value)| (each.name, value))
    }
}

impl Row {
    /// Return the names of its parameters, as sentences list them.
    pub fn names(&self) -> String {
        self.parameters.iter().map(|each| each.name).collect::<Vec<_>>().join(", ")
    }
}

impl Parameter {
    fn from(&self) -> String {
        match self.unit {
            Unit::Bytes => format!("{} bytes at least", self.least),
            Unit::Time => format!("{} ns at least", self.least),
            _ => format!("a number of at least {}", self.least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::row;
    use super::*;

    #[test]
    fn requested_values_override_defaults_from_the_cache() {
        let chase = row("chase").unwrap();
        let given = Given::of(chase, &[("work".into(), 7)], 8 << 20, 1 << 40).unwrap();
        assert_eq!((given.number("work"), given.number("size")), (7, 4 << 20));
        assert_eq!(Given::of(chase, &[], 8 << 20, 1 << 20).unwrap().number("size"), 1 << 20);
        assert_eq!(Given::of(chase, &[], 0, 1 << 20).unwrap().number("size"), 4096);
        assert_eq!(given.number("nothing"), 0);
        assert_eq!(given.all().map(|(name, _)| name).collect::<Vec<_>>(), ["size", "work"]);
    }

    #[test]
    fn invalid_parameters_are_refused_with_a_sentence() {
        let chase = row("chase").unwrap();
        for (name, value, words) in [
            ("sise", 1, "no parameter \"sise\". It has size, work."),
            ("size", 4095, "size of the kernel chase cannot be 4095: it is 4096 bytes at least"),
            ("work", 0, "work of the kernel chase cannot be 0: it is a number of at least 1"),
            ("work", MOST, "cannot be 9007199254740992"),
        ] {
            let message = Given::of(chase, &[(name.into(), value)], 1 << 20, 1 << 30).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
