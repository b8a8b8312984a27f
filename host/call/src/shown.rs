//! Text that somebody else chose, made safe to show on a terminal.

/// Replaces what could deceive whoever reads a text: control characters but the line end and
/// the tab, which could move the cursor or clear the screen, and the characters that turn the
/// direction of writing, which could make one command look like another.
pub fn shown(text: &str) -> String {
    text.chars()
        .map(|c| {
            if deceives(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

fn deceives(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_deceives_is_replaced_and_the_rest_stays() {
        let table = [
            ("two\n\tlines", "two\n\tlines"),
            ("\u{1b}[2Jgone", "\u{fffd}[2Jgone"),
            ("over\rwritten", "over\u{fffd}written"),
            ("rm \u{202e}fdp.tac\u{202c}", "rm \u{fffd}fdp.tac\u{fffd}"),
            ("\u{9b}31mred", "\u{fffd}31mred"),
            ("删除 مجلد", "删除 مجلد"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected);
        }
    }
}
