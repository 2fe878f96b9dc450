//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`: "PID (NAME) STATE PARENT …" (proc_pid_stat(5)). A name may hold
//! anything, blanks and brackets too.

use super::bytes::{number, Words};

/// The fields, by the numbers that proc_pid_stat(5) gives them.
pub struct PidStat {
    pub name: String,
    pub state: String,
    rest: Vec<Option<u64>>,
}

impl PidStat {
    /// None when it is something else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')')?;
        let name = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
        let mut words = Words(text.get(close + 1..)?.trim_ascii());
        let state = String::from_utf8_lossy(words.next()?).into_owned();
        Some(Self { name, state, rest: words.map(number).collect() })
    }

    /// Field 4 and later; None when it is negative or not there.
    pub fn at(&self, field: usize) -> Option<u64> {
        *self.rest.get(field.checked_sub(4)?)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_numbers_of_the_manual() {
        let stat = PidStat::parse(b"7 (a) b (c) S 4 5 -1 7\n").unwrap();
        assert_eq!((stat.name.as_str(), stat.state.as_str()), ("a) b (c", "S"));
        assert_eq!(
            [stat.at(3), stat.at(4), stat.at(6), stat.at(7), stat.at(8)],
            [None, Some(4), None, Some(7), None]
        );
        for bad in [&b""[..], b"7 x S 1", b"7 )x( S 1", b"7 (x)"] {
            assert!(PidStat::parse(bad).is_none());
        }
    }
}
