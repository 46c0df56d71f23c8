//! Keywords of option values; any unambiguous prefix of a keyword is accepted.

/// Keywords and their values.
pub(super) type Keywords<T> = [(&'static str, T)];

/// The value of the keyword `word`, or of the keywords that start with it, if it is unique.
pub(super) fn find_keyword<T: Copy + PartialEq>(words: &Keywords<T>, word: &str) -> Option<T> {
    let word = word.to_ascii_lowercase();
    if let Some((_, meaning)) = words.iter().find(|(name, _)| *name == word) {
        return Some(*meaning);
    }
    let mut meanings = words.iter().filter(|(name, _)| !word.is_empty() && name.starts_with(&word));
    let (_, meaning) = meanings.next()?;
    meanings.all(|(_, other)| other == meaning).then_some(*meaning)
}

/// The error for the unknown keyword `word`; `words` lists the known ones.
pub(super) fn unknown_keyword(word: &str, words: &str) -> String {
    format!("{word:?} is unknown; expected one of {words}")
}

/// The keywords of a table, as a list.
pub(super) fn keyword_list<T>(words: &Keywords<T>) -> String {
    words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unambiguous_prefix_is_enough() {
        let words = [("map", 1), ("map-devel", 2), ("slot", 3), ("socket", 4), ("l1cache", 5)];
        for (word, meaning) in
            [("map", Some(1)), ("MAP-D", Some(2)), ("sl", Some(3)), ("L1", Some(5))]
        {
            assert_eq!(find_keyword(&words, word), meaning, "{word}");
        }
        for word in ["s", "", "maps", "x"] {
            assert_eq!(find_keyword(&words, word), None, "{word}");
        }
        assert!(
            unknown_keyword("x", &keyword_list(&words))
                .contains("\"x\" is unknown; expected one of map, map-")
        );
    }
}
