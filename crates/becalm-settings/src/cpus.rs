//! Sets of CPUs in the kernel's two spellings: lists ("0,2-3") and hexadecimal masks ("ffffffff,0000000f").

use std::collections::BTreeSet;

/// CPUs by number.
pub type Cpus = BTreeSet<u32>;

/// More CPUs than any kernel has; longer lists are not spelled out.
const MOST: u32 = 65_536;

/// Parse a list such as "0,2-3"; None when it is malformed or empty.
pub fn parse(text: &str) -> Option<Cpus> {
    let mut set = Cpus::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        set.extend(first..=last);
    }
    Some(set)
}

/// Return a set as a list.
pub fn list(set: &Cpus) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in set {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let spelled = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(spelled).collect::<Vec<_>>().join(",")
}

/// Return a set as a mask in groups of 32 bits, in the form of `smp_affinity`.
pub fn mask(set: &Cpus) -> String {
    let words = set.last().map_or(1, |last| last / 32 + 1);
    let word = |index: u32| {
        (0..32).filter(|bit| set.contains(&(index * 32 + bit))).fold(0_u32, |word, bit| word | 1 << bit)
    };
    let mut spelled: Vec<String> = (0..words).rev().map(|index| format!("{:08x}", word(index))).collect();
    if words == 1 {
        spelled = vec![format!("{:x}", word(0))];
    }
    spelled.join(",")
}

/// Parse a mask; None when it is malformed.
pub fn unmask(text: &str) -> Option<Cpus> {
    let words: Vec<u32> = text
        .trim()
        .split(',')
        .map(|word| if word.len() <= 8 { u32::from_str_radix(word, 16).ok() } else { None })
        .collect::<Option<_>>()?;
    let mut set = Cpus::new();
    for (index, word) in words.iter().rev().enumerate() {
        set.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| index as u32 * 32 + bit));
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_that_are_none() {
        for bad in ["", "a", "3-1", "1,", "0-99999999", "-1"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        assert_eq!(list(&Cpus::from([0, 2, 3, 4, 9])), "0,2-4,9");
    }

    #[test]
    fn masks_as_the_kernel_prints_them() {
        assert_eq!(mask(&Cpus::from([0, 1])), "3");
        assert_eq!(mask(&Cpus::from([0, 35])), "00000008,00000001");
        assert_eq!(unmask("00000003"), Some(Cpus::from([0, 1])));
        assert_eq!(unmask("zz"), None);
    }

    proptest! {
        #[test]
        fn both_spellings_keep_the_set(set in proptest::collection::btree_set(0_u32..300, 1..40)) {
            prop_assert_eq!(parse(&list(&set)), Some(set.clone()));
            prop_assert_eq!(unmask(&mask(&set)), Some(set));
        }
    }
}
