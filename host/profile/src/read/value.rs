//! Values of the kinds that the grammar knows, or what is wrong with them.

use crate::{
    nearest::did_you_mean,
    position::{Mistake, quoted},
    scalar::Typed,
    tree::{Entry, Node, Value},
};

/// Refuses a key behind which nothing is written: the file may be half-written, and
/// YAML would call it null, which removes things.
pub(crate) fn written(entry: &Entry, name: &str) -> Result<(), Mistake> {
    if entry.node.is_empty() {
        let message = format!("{} has no value", quoted(name));
        let hint = "write one, or `null` for none".to_owned();
        return Err(Mistake::new(&entry.key.position, message).hinting(Some(hint)));
    }
    Ok(())
}

/// Returns the entries of a map.
pub(crate) fn map<'n>(node: &'n Node, what: &str) -> Result<&'n [Entry], Mistake> {
    node.entries()
        .ok_or_else(|| wrong(node, format!("{what} must be a map of keys and values")))
}

/// Returns the items of a list.
pub(crate) fn list<'n>(node: &'n Node, what: &str) -> Result<&'n [Node], Mistake> {
    node.items()
        .ok_or_else(|| wrong(node, format!("{what} must be a list")))
}

/// Returns a text that is not empty.
pub(crate) fn text<'n>(node: &'n Node, name: &str) -> Result<&'n str, Mistake> {
    match typed(node)? {
        Some(Typed::Text("")) => Err(Mistake::new(
            &node.position,
            format!("`{name}` must not be empty"),
        )),
        Some(Typed::Text(text)) => Ok(text),
        Some(Typed::Bool(_) | Typed::Number(_)) => {
            let hint = "put it in quotes".to_owned();
            Err(wrong(node, format!("`{name}` must be text")).hinting(Some(hint)))
        }
        Some(Typed::Empty | Typed::Null) | None => {
            Err(wrong(node, format!("`{name}` must be text")))
        }
    }
}

/// Returns a list of texts, each with its node.
pub(crate) fn texts<'n>(node: &'n Node, name: &str) -> Result<Vec<(&'n str, &'n Node)>, Mistake> {
    list(node, &format!("`{name}`"))?
        .iter()
        .map(|item| Ok((text(item, &format!("each of {name}"))?, item)))
        .collect()
}

/// Returns a truth value.
pub(crate) fn bool(node: &Node, name: &str) -> Result<bool, Mistake> {
    match typed(node)? {
        Some(Typed::Bool(bool)) => Ok(bool),
        Some(Typed::Empty | Typed::Null | Typed::Number(_) | Typed::Text(_)) | None => {
            let hint = "write true or false".to_owned();
            Err(wrong(node, format!("`{name}` must be a truth value")).hinting(Some(hint)))
        }
    }
}

/// Returns one of the words that `word` gives to the choices.
pub(crate) fn choice<T: Copy>(
    node: &Node,
    name: &str,
    choices: &[T],
    word: impl Fn(T) -> &'static str,
) -> Result<T, Mistake> {
    let text = text(node, name)?;
    let found = choices.iter().find(|choice| word(**choice) == text);
    found.copied().ok_or_else(|| {
        let words: Vec<&str> = choices.iter().map(|choice| word(*choice)).collect();
        let message = format!(
            "`{name}` must be one of {}, not {}",
            words.join(", "),
            quoted(text)
        );
        Mistake::new(&node.position, message).hinting(did_you_mean(text, words))
    })
}

/// Returns nothing for `null`, else what `read` makes of the value.
pub(crate) fn optional<T>(
    node: &Node,
    read: impl FnOnce(&Node) -> Result<T, Mistake>,
) -> Result<Option<T>, Mistake> {
    if node.is_null() {
        return Ok(None);
    }
    read(node).map(Some)
}

/// Returns the default for `null`, else what `read` makes of the value.
pub(crate) fn or_default<T: Default>(
    node: &Node,
    read: impl FnOnce(&Node) -> Result<T, Mistake>,
) -> Result<T, Mistake> {
    Ok(optional(node, read)?.unwrap_or_default())
}

/// Returns what a scalar means; nothing for lists and maps.
pub(crate) fn typed(node: &Node) -> Result<Option<Typed<'_>>, Mistake> {
    match &node.value {
        Value::Scalar(scalar) => scalar
            .typed()
            .map(Some)
            .map_err(|why| Mistake::new(&node.position, why)),
        Value::Seq { .. } | Value::Map { .. } => Ok(None),
    }
}

/// Returns the mistake that a value is not what it must be.
pub(crate) fn wrong(node: &Node, must: String) -> Mistake {
    let is = match &node.value {
        Value::Seq { .. } => "a list".to_owned(),
        Value::Map { .. } => "a map".to_owned(),
        Value::Scalar(_) if node.is_empty() => "nothing".to_owned(),
        Value::Scalar(scalar) => quoted(&scalar.text),
    };
    Mistake::new(&node.position, must + ", not " + &is)
}
