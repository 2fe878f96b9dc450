//! Files that show all words they take and mark the chosen one: "always [madvise] never".

use std::io;

/// The chosen word of "always [madvise] never" or "none voluntary (full)"; a text without any is the value itself.
pub fn chosen(text: &str) -> &str {
    let mut words = text.split_ascii_whitespace();
    words.find_map(|word| within(word, '[', ']').or_else(|| within(word, '(', ')'))).unwrap_or(text)
}

fn within(word: &str, open: char, close: char) -> Option<&str> {
    word.strip_prefix(open)?.strip_suffix(close)
}

/// All words of such a text.
pub fn choices(text: &str) -> impl Iterator<Item = &str> {
    text.split_ascii_whitespace().map(|word| word.trim_matches(['[', ']', '(', ')']))
}

/// A value as its file shows it. Brackets go to the word that is chosen.
pub fn spelled(text: &str, value: &str) -> io::Result<String> {
    if chosen(text) == text {
        return Ok(format!("{value}\n"));
    }
    let words: Vec<&str> = choices(text).collect();
    if !words.contains(&value) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let (open, close) = if text.contains('[') { ('[', ']') } else { ('(', ')') };
    let spelled =
        |word: &&str| if *word == value { format!("{open}{word}{close}") } else { (*word).to_owned() };
    Ok(words.iter().map(spelled).collect::<Vec<_>>().join(" ") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_is_in_brackets_of_either_kind() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none voluntary (full)"), "full");
        assert_eq!(chosen("20"), "20");
        assert_eq!(choices("none (full)").collect::<Vec<_>>(), ["none", "full"]);
    }
}
