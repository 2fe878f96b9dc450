//! Lines of JSON that begin with their checksum, which shows that a line is damaged.

use std::io;

use serde::de::DeserializeOwned;
use serde::Serialize;

/// Return a value as a line, with its end.
pub fn line<T: Serialize>(value: &T) -> io::Result<String> {
    let json = serde_json::to_string(value)?;
    Ok(format!("{:08x} {json}\n", checksum(json.as_bytes())))
}

/// Return the value of a line without its end; None when it is damaged or something else.
pub fn value<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (sum, json) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let whole = u32::from_str_radix(sum, 16).ok()? == checksum(json.as_bytes());
    serde_json::from_str(json).ok().filter(|_| whole)
}

/// CRC-32 (IEEE 802.3), bit by bit: a journal has some hundred short lines.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_value_comes_back_and_a_damaged_one_does_not() {
        let line = line(&["a b", "c"]).unwrap();
        let whole = line.strip_suffix('\n').unwrap();
        assert_eq!(value::<Vec<String>>(whole.as_bytes()).unwrap(), ["a b", "c"]);
        assert_eq!(value::<Vec<String>>(whole.replace('c', "d").as_bytes()), None);
        assert_eq!(value::<Vec<String>>(&whole.as_bytes()[..whole.len() - 1]), None);
    }
}
