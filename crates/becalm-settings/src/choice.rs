//! Files that list the words that they accept and mark the chosen one: "always [madvise] never".

/// Return the chosen word of "always [madvise] never" or "none voluntary (full)"; a text without one is
/// itself the value.
pub fn chosen(text: &str) -> &str {
    let mut words = text.split_ascii_whitespace();
    words.find_map(|word| within(word, '[', ']').or_else(|| within(word, '(', ')'))).unwrap_or(text)
}

fn within(word: &str, open: char, close: char) -> Option<&str> {
    word.strip_prefix(open)?.strip_suffix(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_is_in_brackets_of_either_kind() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none voluntary (full)"), "full");
        assert_eq!(chosen("20"), "20");
    }
}
