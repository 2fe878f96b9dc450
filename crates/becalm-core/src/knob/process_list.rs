//! Running processes with the CPUs that they are to have, as in a value of the setting `process_cpus`.

use super::cpus::{self, Cpus};

/// A process and the CPUs that it is to have; `start`: only if it is the one that started then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub pid: i32,
    pub start: Option<u64>,
    pub cpus: Cpus,
}

/// Parse processes such as `1234:0-1;1240@5678:2`; None if the text cannot be read, or names one twice.
pub fn parse(value: &str) -> Option<Vec<Asked>> {
    let mut found: Vec<Asked> = Vec::new();
    for part in value.split(';') {
        let (who, list) = part.split_once(':')?;
        let (pid, start) = who.split_once('@').map_or((who, None), |(pid, start)| (pid, Some(start)));
        let pid = i32::try_from(number(pid)?).ok().filter(|pid| *pid > 0)?;
        let start = start.map_or(Some(None), |start| number(start).map(Some))?;
        if !list.chars().all(|each| each.is_ascii_digit() || matches!(each, ',' | '-')) {
            return None;
        }
        let cpus = cpus::parse(list)?;
        if found.iter().any(|other| other.pid == pid) {
            return None;
        }
        found.push(Asked { pid, start, cpus });
    }
    Some(found)
}

/// Parse a number that consists of digits.
fn number(text: &str) -> Option<u64> {
    text.chars().all(|each| each.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_read_with_and_without_their_start() {
        let one = Asked { pid: 12, start: None, cpus: cpus::parse("0-1").unwrap() };
        let two = Asked { pid: 7, start: Some(99), cpus: cpus::parse("3").unwrap() };
        assert_eq!(parse("12:0-1;7@99:3"), Some(vec![one, two]));
        for bad in [
            "",
            "12",
            "12:",
            ":0",
            "0:1",
            "-1:0",
            "12:0;",
            "12:0;12:1",
            "12@:0",
            "12@x:0",
            "+1:0",
            "1: 0",
            "1:0 ",
            "1:1-0",
            "99999999999:0",
            "1:65536",
            "1:0;2",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
