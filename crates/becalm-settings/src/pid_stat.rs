//! The file `/proc/PID/stat` or `/proc/PID/task/TID/stat`: "PID (NAME) STATE PARENT …" (proc_pid_stat(5)). A
//! name may contain anything, also blanks and brackets.

/// The fields, by their numbers in proc_pid_stat(5).
pub struct PidStat {
    pub name: String,
    pub state: String,
    rest: Vec<Option<u64>>,
}

impl PidStat {
    /// Parse the text; None when it is something else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let (_, rest) = text.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        let mut words = rest.split_ascii_whitespace();
        let state = words.next()?.to_owned();
        Some(Self { name: name.to_owned(), state, rest: words.map(|word| word.parse().ok()).collect() })
    }

    /// Return field 4 or a later one; None when it is negative or missing.
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
