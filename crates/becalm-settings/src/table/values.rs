//! The values that places accept.

use crate::cpus;

/// The values of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedValues {
    Words(&'static [&'static str]),
    Number(i64, i64),
    /// A number in a range, or 0 for the kernel's default, which only the kernel knows.
    Default(i64, i64),
    /// A word that the kernel looks up.
    Word,
    /// CPUs, as a mask or as a list.
    Mask,
    Cpus,
}

impl AllowedValues {
    pub fn holds(self, value: &str) -> bool {
        let number = value.parse::<i64>().ok().filter(|number| number.to_string() == value);
        match self {
            Self::Words(words) => words.contains(&value),
            Self::Number(low, high) => number.is_some_and(|number| (low..=high).contains(&number)),
            Self::Default(low, high) => {
                number.is_some_and(|number| number == 0 || (low..=high).contains(&number))
            }
            Self::Word => {
                (1..=32).contains(&value.len())
                    && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            }
            Self::Mask => {
                value.len() < 20_000 && cpus::unmask(value).is_some_and(|set| cpus::mask(&set) == value)
            }
            Self::Cpus => is_list(value),
        }
    }
}

/// Return whether this is a list of CPUs as becalm spells it.
pub fn is_list(text: &str) -> bool {
    cpus::parse(text).is_some_and(|set| cpus::list(&set) == text)
}
