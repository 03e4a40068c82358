//! The similarity of names, for suggestions.

/// Returns the edit distance: the number of letters to insert, delete, replace or swap with a neighbor.
pub(super) fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<_>, Vec<_>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, theirs) in other.iter().enumerate() {
            let changed = row[j] + usize::from(letter != theirs);
            let mut best = changed.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && one[i - 1] == *theirs && other[j - 1] == *letter {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

/// Returns the known names that are similar to `word`, the most similar first.
pub(super) fn similar_names<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Vec<&'w str> {
    let length = word.chars().count();
    let limit = (length / 3).clamp(1, 3);
    // Names of very different lengths are not compared: the time is the product of both lengths.
    let may_be_meant = |known: &&str| {
        let theirs = known.chars().count();
        length <= theirs + limit && (theirs <= length + limit || known.starts_with(word))
    };
    let known = known.filter(may_be_meant);
    let mut close: Vec<_> = known.map(|known| (distance(word, known), known)).collect();
    close.retain(|(distance, known)| *distance <= limit || word.len() >= 3 && known.starts_with(word));
    close.sort_unstable();
    close.dedup();
    close.into_iter().take(3).map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        let table = [
            ("pods", "pods", 0),
            ("pdos", "pods", 1),
            ("pod", "pods", 1),
            ("nodes", "pods", 2),
            ("", "ab", 2),
        ];
        for (one, other, expected) in table {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["pods", "nodes", "podtemplates", "services"];
        assert_eq!(similar_names("pdos", known.into_iter()), ["pods"]);
        assert_eq!(similar_names("podt", known.into_iter()), ["pods", "podtemplates"]);
        assert_eq!(similar_names("zebra", known.into_iter()), [""; 0]);
    }
}
