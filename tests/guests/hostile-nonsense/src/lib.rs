//! A guard that answers what no guard should. `how` chooses the nonsense.

use damper_guest::{
    Call, Deserialize, Guard, JsonSchema, LocalizedText, Objection, Span, Verdict, export_guard,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nonsense {
    how: How,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// A span that ends beyond the text.
    Span,
    /// A span that ends before it starts.
    Backwards,
    /// Ten thousand rules.
    Huge,
    /// No rule and an empty reason.
    Empty,
    /// Control characters in a rule id.
    Control,
    /// Control characters and a turn of direction in every text, which are taken out.
    Terminal,
    /// A language that is none.
    Language,
}

impl Guard for Nonsense {
    const ID: &'static str = "test/hostile-nonsense";

    type Config = Self;

    fn new(config: Self) -> Self {
        config
    }

    fn check(&self, _: &Call) -> Verdict {
        let mut objection = Objection::new("nonsense", "this answer makes no sense");
        match self.how {
            How::Span => {
                objection.span = Some(Span {
                    start: 0,
                    end: u32::MAX,
                });
            }
            How::Backwards => objection.span = Some(Span { start: 2, end: 1 }),
            How::Huge => objection.rules = (0..10_000).map(|n| format!("rule-{n}")).collect(),
            How::Empty => {
                objection.rules = Vec::new();
                objection.reason = String::new();
            }
            How::Control => objection.rules = vec!["\u{1b}[2J".to_owned()],
            How::Terminal => {
                let text = "\u{1b}[31mred\u{0}\u{202e}der\u{7}";
                objection.reason = text.to_owned();
                objection.effect = Some(text.to_owned());
                objection.display.push(LocalizedText {
                    language: "en".to_owned(),
                    text: text.to_owned(),
                });
            }
            How::Language => objection.display.push(LocalizedText {
                language: "no language\n".to_owned(),
                text: "text".to_owned(),
            }),
        }
        Verdict::Ask(objection)
    }
}

export_guard!(Nonsense);
