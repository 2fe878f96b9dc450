//! One sample of all sources, and the changes between two samples.

use std::collections::HashMap;
use std::sync::Arc;

use super::file::Reason;
use super::layout::{Kind, Layout, UNKNOWN};

/// The largest difference that counts as a wrap of a 32-bit counter at zero. A reset looks the same only when
/// the counter was in its last sixteenth; the milliseconds of a busy disk take 3 days to move that far.
const LARGEST_WRAP: u64 = 1 << 28;

/// The numbers of one source in one sample.
#[derive(Debug, Clone)]
pub struct Section {
    pub name: &'static str,
    /// CLOCK_MONOTONIC_RAW just before the source was read, ns.
    pub at_ns: i64,
    /// The time that reading took, ns.
    pub took_ns: i64,
    /// The missing values, with reasons.
    pub missing: Vec<Reason>,
    pub(crate) layout: Arc<Layout>,
    pub(super) first: usize,
    pub(crate) len: usize,
}

impl Section {
    /// Return why there is no number at all; None when there are some.
    pub fn absent(&self) -> Option<String> {
        if self.len > 0 {
            return None;
        }
        if self.missing.is_empty() {
            return Some("its files hold nothing that is known here".to_owned());
        }
        Some(self.missing.join("; "))
    }
}

/// One sample: a flat list of numbers, and sections that name them.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub sections: Vec<Section>,
    pub values: Vec<u64>,
}

impl Snapshot {
    /// Return a section by its source's name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Return names, kinds and values of a section; an unknown value is None.
    pub fn named<'s>(
        &'s self,
        section: &'s Section,
    ) -> impl Iterator<Item = (String, Kind, Option<u64>)> + 's {
        let values = self.of(section).iter().map(|value| known(*value));
        section.layout.names().zip(values).map(|((name, kind), value)| (name, kind, value))
    }

    /// Return one value by the names of its source and itself.
    pub fn value(&self, source: &str, name: &str) -> Option<u64> {
        self.named(self.section(source)?).find(|(found, ..)| found == name)?.2
    }

    pub(crate) fn of(&self, section: &Section) -> &[u64] {
        &self.values[section.first..section.first + section.len]
    }
}

/// Return a value as it is in the list, or None if it is unknown.
pub fn known(value: u64) -> Option<u64> {
    (value != UNKNOWN).then_some(value)
}

/// The reason why it is not known how far a counter moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// It ran backwards: it was reset, or is one that may do so (steal, iowait, idle).
    Backwards,
    /// It was not there at the beginning.
    Appeared,
    /// It was not there at the end.
    Disappeared,
    /// Its place in the file did not hold a number.
    Unread,
    /// The file contained its name twice.
    Twice,
    /// The second sample is not later than the first.
    Order,
    /// It is a sum, and its terms have changed.
    Changed,
    /// It is a number of things, and some came or went.
    Number,
}

impl Unknown {
    /// Return the reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Backwards => "the counter ran backwards",
            Self::Appeared => "it appeared during the interval",
            Self::Disappeared => "it disappeared during the interval",
            Self::Unread => "its place in the file held no number",
            Self::Twice => "the file had its name twice",
            Self::Order => "the second reading was not after the first",
            Self::Changed => "a device that it counts came or went during the interval",
            Self::Number => "came or went during the interval",
        }
    }
}

/// The distance that a counter moved, or why that is not known.
pub type Change = Result<u64, Unknown>;

/// The changes of the counters of one source between two samples.
#[derive(Debug, Clone)]
pub struct Moved {
    pub name: &'static str,
    /// The time from the beginning of the first reading to that of the second, ns; None without both.
    pub interval_ns: Option<i64>,
    /// The reason why there are none, if there are none.
    pub absent: Option<String>,
    /// The counters by name, in the order of the file. States are left out.
    pub changes: Vec<(String, Change)>,
}

/// Return the changes of all counters between two samples, source by source.
pub fn difference(before: &Snapshot, after: &Snapshot) -> Vec<Moved> {
    let mut moved: Vec<Moved> = after
        .sections
        .iter()
        .map(|end| match before.section(end.name) {
            Some(start) => between((before, start), (after, end)),
            None => alone((after, end), Unknown::Appeared, "it was not read at the beginning"),
        })
        .collect();
    let gone = before.sections.iter().filter(|start| after.section(start.name).is_none());
    moved
        .extend(gone.map(|start| alone((before, start), Unknown::Disappeared, "it was not read at the end")));
    moved
}

type Side<'s> = (&'s Snapshot, &'s Section);

fn alone((snapshot, section): Side<'_>, why: Unknown, words: &str) -> Moved {
    let counters = snapshot.named(section).filter(|(_, kind, _)| *kind != Kind::State);
    Moved {
        name: section.name,
        interval_ns: None,
        absent: Some(words.to_owned()),
        changes: counters.map(|(name, ..)| (name, Err(why))).collect(),
    }
}

fn between((before, start): Side<'_>, (after, end): Side<'_>) -> Moved {
    let interval_ns = end.at_ns - start.at_ns;
    let same = Arc::ptr_eq(&start.layout, &end.layout) || start.layout == end.layout;
    let mut changes = if same {
        let pairs = before.of(start).iter().zip(after.of(end));
        let named = end.layout.names().zip(pairs).filter(|((_, kind), _)| *kind != Kind::State);
        named.map(|((name, kind), (one, two))| (name, change(kind, known(*one), known(*two)))).collect()
    } else {
        by_name((before, start), (after, end))
    };
    if interval_ns <= 0 {
        changes.iter_mut().for_each(|(_, change)| *change = Err(Unknown::Order));
    }
    Moved {
        name: end.name,
        interval_ns: (interval_ns > 0).then_some(interval_ns),
        absent: end.absent().or_else(|| start.absent()),
        changes,
    }
}

/// Find counters by their names, since the machine has changed in between.
fn by_name((before, start): Side<'_>, (after, end): Side<'_>) -> Vec<(String, Change)> {
    // None: the name occurred twice.
    let mut earlier: HashMap<String, Option<Option<u64>>> = HashMap::new();
    for (name, kind, value) in before.named(start) {
        if kind != Kind::State {
            earlier.entry(name).and_modify(|found| *found = None).or_insert(Some(value));
        }
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut changes: Vec<(String, Change)> = Vec::new();
    for (name, kind, value) in after.named(end) {
        if kind == Kind::State {
            continue;
        }
        let moved = match earlier.get(&name) {
            Some(Some(one)) => change(kind, *one, value),
            Some(None) => Err(Unknown::Twice),
            None => Err(Unknown::Appeared),
        };
        match seen.get(&name) {
            Some(place) => changes[*place].1 = Err(Unknown::Twice),
            None => {
                seen.insert(name.clone(), changes.len());
                changes.push((name, moved));
            }
        }
    }
    let gone = before.named(start).filter(|(name, kind, _)| *kind != Kind::State && !seen.contains_key(name));
    changes.extend(gone.map(|(name, ..)| (name, Err(Unknown::Disappeared))));
    changes
}

/// Return how far one counter moved, if that is known exactly.
pub fn change(kind: Kind, before: Option<u64>, after: Option<u64>) -> Change {
    let (Some(before), Some(after)) = (before, after) else { return Err(Unknown::Unread) };
    if let Some(forward) = after.checked_sub(before) {
        return Ok(forward);
    }
    if kind == Kind::Counter32 && before < 1 << 32 {
        return wrapped(before, after).ok_or(Unknown::Backwards);
    }
    Err(Unknown::Backwards)
}

/// Return how far a 32-bit counter, or a sum of such counters, moved when it has become smaller; None when it
/// was reset.
pub(crate) fn wrapped(before: u64, after: u64) -> Option<u64> {
    after.checked_add(1 << 32)?.checked_sub(before).filter(|moved| *moved < LARGEST_WRAP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn backwards_is_unknown_and_a_wrap_of_32_bits_is_not() {
        let wide = |one, two| change(Kind::Counter, Some(one), Some(two));
        let narrow = |one, two| change(Kind::Counter32, Some(one), Some(two));
        assert_eq!(wide(5, 5), Ok(0));
        assert_eq!(wide(100, 99), Err(Unknown::Backwards));
        assert_eq!(wide(u64::MAX - 1, 3), Err(Unknown::Backwards));
        assert_eq!(narrow(4_294_967_290, 4), Ok(10));
        assert_eq!(narrow(3_000_000_000, 4), Err(Unknown::Backwards), "a reset");
        assert_eq!(narrow(5_000_000_000, 4), Err(Unknown::Backwards), "this kernel prints more bits");
        assert_eq!(change(Kind::Counter, None, Some(3)), Err(Unknown::Unread));
        assert_eq!(change(Kind::Counter, Some(3), None), Err(Unknown::Unread));
    }

    proptest! {
        #[test]
        fn a_difference_is_never_larger_than_the_movement(before in 0_u64..u64::MAX, moved in any::<u64>()) {
            if let Some(after) = before.checked_add(moved) {
                prop_assert_eq!(change(Kind::Counter, Some(before), Some(after)), Ok(moved));
            }
        }

        #[test]
        fn wrapped_32_bit_counters_give_exact_differences(before in any::<u64>(), moved in 0_u64..LARGEST_WRAP) {
            let (shown, later) = (before & 0xffff_ffff, before.wrapping_add(moved) & 0xffff_ffff);
            prop_assert_eq!(change(Kind::Counter32, Some(shown), Some(later)), Ok(moved));
        }
    }
}
