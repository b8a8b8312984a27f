//! Profiles through the front door: text in, rows or messages out.

#[cfg(test)]
mod compose;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod show;
#[cfg(test)]
mod tree;

#[cfg(test)]
mod files {
    use std::path::Path;

    use damper_profile::{Composition, Source, compose};

    /// A profile with one row of each kind.
    pub(crate) const BASE: &str = "\
name: base
rows:
  - id: shell
    tools: [read, bash]
  - id: gate
    plugin: damper/gate
    config:
      mode: strict
      lists: {deny: [a, b], allow: [c]}
    limits: {memory: 64MiB, guest_time: 100ms}
";

    pub(crate) fn profile(text: &str) -> Source<'_> {
        Source::at(Path::new("p.yaml"), text.as_bytes())
    }

    pub(crate) fn patch(text: &str) -> Source<'_> {
        Source::at(Path::new("q.yaml"), text.as_bytes())
    }

    /// Returns the base profile with patches applied, which are named a.yaml, b.yaml ...
    pub(crate) fn composed(patches: &[&str]) -> Composition {
        let names = ["a.yaml", "b.yaml", "c.yaml"];
        let patches: Vec<Source> = names
            .iter()
            .zip(patches)
            .map(|(name, text)| Source::at(Path::new(name), text.as_bytes()))
            .collect();
        compose(&profile(BASE), &patches).unwrap()
    }
}
