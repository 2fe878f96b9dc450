//! The bytes of the kernel's small files: whole lines, words and numbers, without a copy.

/// Return the lines of a file that end with a newline. A last line without one was cut off, and a number at
/// its end would be another number.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (line, after) = split_once(rest, b'\n')?;
        rest = after;
        Some(line)
    })
}

/// Return the first place of a byte. This is memchr(3), since `/proc/interrupts` of a large machine has
/// megabytes.
fn find(text: &[u8], byte: u8) -> Option<usize> {
    // SAFETY: reads within the slice; a result is a pointer into it.
    let found = unsafe { libc::memchr(text.as_ptr().cast(), i32::from(byte), text.len()) };
    (!found.is_null()).then(|| found as usize - text.as_ptr() as usize)
}

/// The words between blanks.
pub struct Words<'a>(pub &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|byte| !blank(*byte))?;
        let rest = &self.0[start..];
        let end = rest.iter().position(|byte| blank(*byte)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.0 = rest;
        Some(word)
    }
}

impl<'a> Words<'a> {
    /// Return the bytes that have not been read yet, without the blanks around them.
    pub fn rest(&self) -> &'a [u8] {
        self.0.trim_ascii()
    }

    /// Return the next word as a number; None when there is none or it is something else.
    pub fn number(&mut self) -> Option<u64> {
        let start = self.0.iter().position(|byte| !blank(*byte))?;
        let text = &self.0[start..];
        let mut value = 0_u64;
        let mut length = 0;
        while let Some(digit) =
            text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            length += 1;
        }
        // Words of up to 19 digits, nearly all, are parsed in one pass, the others like any word.
        if (1..=19).contains(&length) && text.get(length).is_none_or(|byte| blank(*byte)) {
            self.0 = &text[length..];
            return Some(value);
        }
        number(self.next()?)
    }
}

fn blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Parse a decimal number that consists of digits and fits into 64 bits.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Parse a number with two decimals, such as load averages and pressures, in hundredths.
pub fn hundredths(word: &[u8]) -> Option<u64> {
    let point = word.iter().position(|byte| *byte == b'.')?;
    let (whole, decimals) = (&word[..point], &word[point + 1..]);
    if decimals.len() != 2 {
        return None;
    }
    number(whole)?.checked_mul(100)?.checked_add(number(decimals)?)
}

/// Split a text at the first such byte.
pub fn split_once(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = find(text, at)?;
    Some((&text[..place], &text[place + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_was_cut_off_is_no_line() {
        let found: Vec<&[u8]> = lines(b"a 1\nb 2\nc 3").collect();
        assert_eq!(found, [b"a 1", b"b 2"]);
        assert_eq!(lines(b"c 3").filter(|line| !line.is_empty()).count(), 0);
        assert_eq!(lines(b"").filter(|line| !line.is_empty()).count(), 0);
    }

    #[test]
    fn numbers_are_digits_that_fit() {
        for (word, value) in [("0", Some(0)), ("18446744073709551615", Some(u64::MAX)), ("007", Some(7))] {
            assert_eq!(number(word.as_bytes()), value, "{word}");
        }
        for bad in ["", "-1", "+1", "1.5", "18446744073709551616", "1\0", "0x1", "٣"] {
            assert_eq!(number(bad.as_bytes()), None, "{bad}");
        }
        for (word, value) in
            [("6.41", Some(641)), ("0.00", Some(0)), ("1.5", None), ("12", None), (".50", None)]
        {
            assert_eq!(hundredths(word.as_bytes()), value, "{word}");
        }
    }

    proptest! {
        #[test]
        fn a_word_is_the_same_number_alone_and_in_a_line(before in "[ \t]{0,3}", word in "[0-9]{0,21}[0-9a-z.]?", after in "( .*)?") {
            let line = format!("{before}{word}{after}");
            let alone = Words(line.as_bytes()).next().and_then(number);
            let mut words = Words(line.as_bytes());
            prop_assert_eq!(words.number(), alone);
            let mut other = Words(line.as_bytes());
            other.next();
            prop_assert_eq!(words.rest(), other.rest());
        }
    }

    #[test]
    fn words_and_the_rest_of_a_line() {
        let mut words = Words(b"  36:  689875\t660437 PCI-MSIX  virtio1-req.0 ");
        assert_eq!(words.next(), Some(&b"36:"[..]));
        assert_eq!((words.number(), words.number()), (Some(689_875), Some(660_437)));
        assert_eq!(words.rest(), b"PCI-MSIX  virtio1-req.0");
        assert_eq!(Words(b" \t ").next(), None);
    }
}
