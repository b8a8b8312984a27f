//! Anchors and tags: what of YAML is refused, and the few tags that are not.

use std::borrow::Cow;

use saphyr_parser::{ScalarStyle, Tag};

use super::MAX_DEPTH;
use crate::{
    position::{Mistake, Position, quoted},
    scalar::{Scalar, Style, Typed},
};

pub(super) fn refuse_anchor(anchor: usize, position: &Position) -> Result<(), Mistake> {
    if anchor == 0 {
        Ok(())
    } else {
        Err(anchor_mistake(position))
    }
}

pub(super) fn anchor_mistake(position: &Position) -> Mistake {
    let message = "anchors (`&`) and aliases (`*`) are not supported; write the value out, \
                   or put text that begins so in quotes";
    Mistake::new(position, message)
}

pub(super) fn depth_mistake(position: &Position) -> Mistake {
    let message = format!("this is nested more than {MAX_DEPTH} levels deep");
    Mistake::new(position, message)
}

pub(super) fn scalar(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
    position: &Position,
) -> Result<Scalar, Mistake> {
    let style = match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted
        | ScalarStyle::DoubleQuoted
        | ScalarStyle::Literal
        | ScalarStyle::Folded => Style::Quoted,
    };
    let text = text.into_owned();
    let Some(tag) = tag else {
        return Ok(Scalar { text, style });
    };
    let name = core_tag(tag).ok_or_else(|| tag_mistake(tag, position))?;
    if name == "str" {
        let style = Style::Quoted;
        return Ok(Scalar { text, style });
    }
    let scalar = Scalar {
        text,
        style: Style::Plain,
    };
    let typed = scalar.typed();
    let fits = match typed.map_err(|why| Mistake::new(position, why))? {
        Typed::Empty | Typed::Null => name == "null",
        Typed::Bool(_) => name == "bool",
        Typed::Number(number) => name == "float" || (name == "int" && !number.is_f64()),
        Typed::Text(_) => false,
    };
    if !fits {
        let message = format!(
            "{} is not what its tag `!!{name}` says",
            quoted(&scalar.text)
        );
        return Err(Mistake::new(position, message));
    }
    Ok(scalar)
}

pub(super) fn check_collection_tag(
    tag: Option<&Tag>,
    expected: &str,
    position: &Position,
) -> Result<(), Mistake> {
    match tag {
        Some(tag) if core_tag(tag) != Some(expected) => Err(tag_mistake(tag, position)),
        Some(_) | None => Ok(()),
    }
}

/// Returns the name of a tag of the core schema; `!` alone means text.
fn core_tag(tag: &Tag) -> Option<&str> {
    const CORE: [&str; 7] = ["str", "int", "float", "bool", "null", "seq", "map"];
    if tag.handle.is_empty() && tag.suffix == "!" {
        return Some("str");
    }
    let name = CORE.into_iter().find(|name| tag.suffix == *name);
    name.filter(|_| tag.is_yaml_core_schema())
}

fn tag_mistake(tag: &Tag, position: &Position) -> Mistake {
    let shown = if tag.is_yaml_core_schema() {
        format!("!!{}", tag.suffix)
    } else {
        format!("{}{}", tag.handle, tag.suffix)
    };
    let message = format!("the tag {} is not supported; remove it", quoted(&shown));
    Mistake::new(position, message)
}
