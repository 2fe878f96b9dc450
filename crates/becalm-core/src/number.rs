//! Numbers in the output of programs, and those that can be read in two ways.
//!
//! A comma separates thousands in one country and decimals in another, so `1,234` is refused: it may be 1234
//! or 1.234. `1,234.5` and `1,234,567` can be read in one way only. A pattern that matches a part of `1,234`
//! has found no number either.

use std::ops::Range;

/// The characters that separate thousands or decimals in some country, and mean nothing else within a number.
const SEPARATORS: [char; 9] = ['.', ',', '\'', '_', '\u{2019}', '\u{a0}', '\u{202f}', '\u{2009}', '\u{66c}'];

/// Return whether the fourth power of a number, which statistics use, is a number too, and the number is not
/// zero, which has no ratio to another.
pub fn sensible(number: f64) -> bool {
    (1e-60..=1e60).contains(&number)
}

/// Return why a text is not such a number, in words.
pub fn unfit(text: &str) -> &'static str {
    match text.trim().parse::<f64>() {
        Ok(number) if number > 0.0 => "not from 1e-60 to 1e60, as numbers are that have ratios and a spread",
        _ => "not a number above zero",
    }
}

/// The reason why a text is not used as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// It is not a number, or not above zero.
    NoNumber,
    /// It can be read in two ways.
    Ambiguous,
}

/// Parse a printed number. Errors: it is not a number above zero, or can be read in two ways.
pub fn printed(text: &str) -> Result<f64, Unusable> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return Some(number).filter(|number| sensible(*number)).ok_or(Unusable::NoNumber);
    }
    if let Some(number) = grouped(text).and_then(|plain| plain.parse().ok()) {
        return Some(number).filter(|number| sensible(*number)).ok_or(Unusable::NoNumber);
    }
    let separated = text.starts_with(|sign: char| sign.is_ascii_digit())
        && text.chars().all(|sign| sign.is_ascii_digit() || sign == ' ' || SEPARATORS.contains(&sign));
    Err(if separated { Unusable::Ambiguous } else { Unusable::NoNumber })
}

/// Return "1,234,567.8" without its commas; None unless they certainly separate thousands.
fn grouped(text: &str) -> Option<String> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = whole.split(',');
    let first = parts.next()?;
    let parts: Vec<&str> = parts.collect();
    let sure = parts.len() > 1 || (parts.len() == 1 && fraction.is_some());
    let right = sure
        && (1..=3).contains(&first.len())
        && digits(first)
        && !first.starts_with('0')
        && parts.iter().all(|part| part.len() == 3 && digits(part))
        && fraction.is_none_or(digits);
    right.then(|| text.replace(',', ""))
}

/// Return whether a number goes on beyond the part of it that a pattern matched: before `group`, or behind
/// it.
///
/// Characters that the whole match covers are intended: `,([0-9]+),` reads a column of a table.
pub fn goes_on(text: &str, group: Range<usize>, whole: Range<usize>) -> bool {
    let before = &text[..group.start];
    let behind = &text[group.end..];
    (whole.start == group.start && ends_within(before)) || (whole.end == group.end && begins_within(behind))
}

/// Return whether a text ends within a number that the next character continues.
fn ends_within(text: &str) -> bool {
    let mut back = text.chars().rev();
    let digit = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_digit());
    let exponent = text.strip_suffix(['+', '-']).unwrap_or(text).strip_suffix(['e', 'E']);
    if exponent.is_some_and(|mantissa| digit(mantissa.chars().next_back())) {
        return true;
    }
    match (back.next(), back.next()) {
        (Some(last), _) if last.is_ascii_digit() => true,
        (Some('-'), before) => before.is_none_or(|sign| !sign.is_alphanumeric() && sign != '-'),
        (Some('.'), before) => before.is_none_or(|sign| sign.is_ascii_digit() || sign.is_whitespace()),
        (Some(last), Some(before)) => SEPARATORS.contains(&last) && before.is_ascii_digit(),
        _ => false,
    }
}

/// Return whether a text begins with the rest of a number.
fn begins_within(text: &str) -> bool {
    let mut signs = text.chars();
    match (signs.next(), signs.next(), signs.next()) {
        (Some(first), ..) if first.is_ascii_digit() => true,
        (Some('e' | 'E'), Some('+' | '-'), Some(digit)) => digit.is_ascii_digit(),
        (Some('e' | 'E'), Some(digit), _) => digit.is_ascii_digit(),
        (Some(first), Some(second), _) => SEPARATORS.contains(&first) && second.is_ascii_digit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beyond_those_that_are_compared_is_named_with_the_limits() {
        assert!(unfit(" 1e308").starts_with("not from 1e-60 to 1e60"));
        assert!(unfit("1e-61").starts_with("not from 1e-60 to 1e60"));
        for text in ["-1e308", "0", "x", "NaN"] {
            assert_eq!(unfit(text), "not a number above zero", "{text}");
        }
    }

    #[test]
    fn numbers_that_can_be_read_in_one_way() {
        for (text, number) in [
            ("1e3", 1000.0),
            (" 2 ", 2.0),
            ("1.234", 1.234),
            ("1,234,567.5", 1_234_567.5),
            ("1,234,567", 1_234_567.0),
            ("1,234.5", 1234.5),
            ("+3", 3.0),
        ] {
            assert_eq!(printed(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn numbers_that_can_be_read_in_two_ways_are_refused() {
        for text in [
            "1,234",
            "1,23",
            "1,2345",
            "1.234,5",
            "1.234.567",
            "1_000",
            "1'234",
            "12 345",
            "0,123,456",
            "12,34,567",
            "1\u{202f}234",
            "1,234.",
            "1,234,56",
            "1,234.5,6",
        ] {
            assert_eq!(printed(text), Err(Unusable::Ambiguous), "{text}");
        }
    }

    #[test]
    fn only_numbers_above_zero_are_accepted() {
        for text in ["0", "-1", "1e99", "nan", "inf", "3 s", "", "0x10", ",5", "-1,234"] {
            assert_eq!(printed(text), Err(Unusable::NoNumber), "{text}");
        }
    }

    #[test]
    fn a_match_within_a_number_is_noticed() {
        let within = |text: &str, part: &str| {
            let at = text.rfind(part).unwrap();
            goes_on(text, at..at + part.len(), at..at + part.len())
        };
        for (text, part) in [
            ("1,234 ms", "1"),
            ("1,234 ms", "234"),
            ("1,234.5", "234.5"),
            ("12.5 s", "5"),
            ("12.5 s", "12"),
            ("1.5e+06", "1.5"),
            ("1.5e+06", "06"),
            ("1.5e-06", "06"),
            ("1.5E6", "6"),
            ("2E6", "2"),
            ("1_000", "1"),
            ("1'000", "000"),
            ("-5 ms", "5"),
            (".5", "5"),
            ("1\u{a0}234", "234"),
            ("345", "3"),
            ("345", "5"),
        ] {
            assert!(within(text, part), "{part} of {text}");
        }
        for (text, part) in [
            ("12 345 ms", "345"),
            ("took 12.", "12"),
            ("5, 6", "5"),
            ("p-5", "5"),
            ("....5", "5"),
            ("3ms", "3"),
            ("3e", "3"),
        ] {
            assert!(!within(text, part), "{part} of {text}");
        }
        assert!(!goes_on("a,12,345", 2..4, 1..5), "the pattern has both commas");
        assert!(goes_on("a,12,345", 2..4, 1..4));
    }
}
