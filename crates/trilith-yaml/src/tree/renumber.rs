//! Other numbers in the place of numbers, without reading the tree again.

use super::{Node, NodeRecord, Tree, YamlScalarStyle};
use crate::span::Span;

impl Tree {
    /// Returns the tree with other numbers in the places of scalars. `None` if one of these is not a plain decimal number without tag,
    /// anchor and alias. A number may be wherever another one is, and nothing else of the text can change its meaning, so that the
    /// new text is not parsed.
    ///
    /// ```
    /// use trilith_yaml::{Limits, tree::Tree};
    /// let tree = Tree::parse("{source: 9, shape: [3]}\n", &Limits::default())?;
    /// let renumbered = tree.with_numbers(&[(tree.node_at_pointer("/source").unwrap(), 10)]).unwrap();
    /// assert_eq!(renumbered.text(), "{source: 10, shape: [3]}\n");
    /// assert_eq!(renumbered.node_at_pointer("/shape/0").unwrap().as_u64(), Some(3));
    /// # Ok::<(), trilith_yaml::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn with_numbers(&self, numbers: &[(Node<'_>, u64)]) -> Option<Self> {
        let is_number = |text: &str| text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
        let mut places = Vec::with_capacity(numbers.len());
        for (node, number) in numbers {
            let is_plain = !node.is_alias() && node.tag().is_none() && node.anchor().is_none();
            let text = node.source_text();
            if !is_plain || node.style() != Some(YamlScalarStyle::Plain) || text.is_empty() || !is_number(text) {
                return None;
            }
            places.push((node.span(), number.to_string()));
        }
        places.sort_unstable_by_key(|(span, _)| span.start);
        let (mut text, mut at) = (String::with_capacity(self.text.len() + 8 * places.len()), 0);
        // The end of each number in the old text, and by how much the text after it moves.
        let (mut moves, mut shift) = (Vec::with_capacity(places.len()), 0i64);
        for (span, number) in places {
            text.push_str(self.text.get(at..span.start as usize)?);
            text.push_str(&number);
            at = span.end as usize;
            shift += number.len() as i64 - i64::from(span.end - span.start);
            moves.push((span.end, shift));
        }
        text.push_str(self.text.get(at..)?);
        u32::try_from(text.len()).ok().filter(|len| *len < u32::MAX)?;
        let mut renumbered = Self { text, ..self.clone() };
        if moves.iter().any(|(_, shift)| *shift != 0) {
            renumbered.move_spans(&moves);
        }
        Some(renumbered)
    }

    /// Moves every place in the text.
    fn move_spans(&mut self, moves: &[(u32, i64)]) {
        let (Some((first, _)), Some((last, all))) = (moves.first(), moves.last()) else { return };
        let moved = |at: u32| {
            let shift = match at {
                _ if at < *first => return at,
                _ if at >= *last => *all,
                _ => moves.partition_point(|(end, _)| *end <= at).checked_sub(1).map_or(0, |place| moves[place].1),
            };
            u32::try_from(i64::from(at) + shift).unwrap_or(at)
        };
        for NodeRecord { start, end, .. } in &mut self.records {
            (*start, *end) = (moved(*start), moved(*end));
        }
        for props in &mut self.props {
            for span in [&mut props.anchor, &mut props.tag] {
                *span = Span::new(moved(span.start), moved(span.end));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn renumbered_tree_eq_parsed_text() {
        let text = "%YAML 1.1\n--- !a\nµ: [7, &n !b {s: 10, t: 'it''s'}, 100]\nx: {s: 9, q: *n} # 9\nend: \"\\t\"\n...\n";
        let tree = Tree::parse(text, &Limits::default()).unwrap();
        let at = |tree: &Tree, path: &str| tree.node_at_pointer(path).map(|node| node.id()).unwrap();
        let paths = ["/µ/0", "/µ/1/s", "/µ/2", "/x/s"];
        for numbers in [[1, 2, 3, 4], [10, 9, 99, 10], [1234, 0, 5, 100_000], [7, 10, 100, 9]] {
            let changes: Vec<_> = paths.iter().map(|path| tree.node(at(&tree, path)).unwrap()).zip(numbers).collect();
            let renumbered = tree.with_numbers(&changes).unwrap();
            let parsed = Tree::parse(renumbered.text(), &Limits::default()).unwrap();
            let all = |tree: &Tree| {
                let node =
                    |index| tree.node_at(index).map(|node| (node.span(), node.source_text().to_owned(), node.line_column()));
                (0..tree.node_count()).map(node).collect::<Vec<_>>()
            };
            assert_eq!(all(&renumbered), all(&parsed));
            let found = paths.map(|path| renumbered.node_at_pointer(path).and_then(Node::as_u64));
            assert_eq!(found, numbers.map(Some));
            let anchored = renumbered.node_at_pointer("/x/q").and_then(Node::alias_target).unwrap();
            assert_eq!((anchored.anchor(), anchored.tag()), (Some("n"), Some("!b")));
            assert_eq!(renumbered.node_at_pointer("/end").unwrap().text(), "\t");
        }
    }

    #[test]
    fn other_scalars_have_no_numbers() {
        let tree = Tree::parse("[&n 3, !!int 3, '3', 0x3, 03, -1, file, {3: 4}, *n]\n", &Limits::default()).unwrap();
        for index in 1..tree.node_count() {
            let node = tree.node_at(index).unwrap();
            let is_number = node.is_scalar() && ["3", "4"].contains(&node.source_text()) && node.anchor().is_none();
            let is_number = is_number && node.tag().is_none() && !node.is_alias();
            assert_eq!(tree.with_numbers(&[(node, 5)]).is_some(), is_number, "{}", node.source_text());
        }
    }
}
