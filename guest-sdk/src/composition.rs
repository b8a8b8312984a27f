//! How a session is composed, written so that it reads like the mode it describes.

use crate::Section;

/// How a session is composed.
///
/// ```
/// use damper_guest::{Composition, WorkerKind};
///
/// let plan = Composition::coordinator()
///     .keep(["read", "grep", "glob"])
///     .section("persona", "You plan and check. Others do the work.")
///     .kind(
///         WorkerKind::new("subagent", "Does one piece of work.")
///             .all_but(["web_fetch"])
///             .section("persona", "You do one piece of work."),
///     );
/// assert!(plan.coordinates);
/// assert_eq!(plan.kinds.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composition {
    /// Whether the session only plans and checks: its role is then `coordinator`, else
    /// `solo`.
    pub coordinates: bool,
    /// The session's tools.
    pub tools: ToolFilter,
    /// The tools that a coordinator keeps, for the plugin that withholds the others.
    pub keep: Vec<String>,
    /// The kinds of workers it can hand work to.
    pub kinds: Vec<WorkerKind>,
    /// The session's prompt, in order.
    pub sections: Vec<Section>,
}

/// A kind of worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerKind {
    /// Its name, which is also the name of the tool that hands work to it: 1 to 64
    /// characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What it is good for, for the session that chooses.
    pub description: String,
    /// Its tools.
    pub tools: ToolFilter,
    /// Its prompt, in order.
    pub persona: Vec<Section>,
    /// What it knows when it starts.
    pub context: ContextSource,
    /// Its model; none means that of the session that hands it work.
    pub model: Option<ModelChoice>,
}

/// Which tools a session or a worker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolFilter {
    /// All there are.
    All,
    /// These and no others. Names of tools that do not exist do no harm.
    Only(Vec<String>),
    /// All but these.
    AllBut(Vec<String>),
}

/// What a worker knows when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextSource {
    /// Its brief.
    Fresh,
    /// Its brief, and the completed turns of the session that hands it work.
    Fork,
    /// Its brief; it works by writing programs that call tools.
    Program,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The row of the provider.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

impl Composition {
    /// Returns a session that works alone, with all tools and no prompt.
    pub const fn solo() -> Self {
        Self::new(false)
    }

    /// Returns a session that plans and checks while workers work, with all tools and no
    /// prompt, and no workers yet.
    pub const fn coordinator() -> Self {
        Self::new(true)
    }

    const fn new(coordinates: bool) -> Self {
        Self {
            coordinates,
            tools: ToolFilter::All,
            keep: Vec::new(),
            kinds: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Gives it these tools and no others.
    #[must_use]
    pub fn only<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = ToolFilter::only(tools);
        self
    }

    /// Gives it all tools but these.
    #[must_use]
    pub fn all_but<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = ToolFilter::all_but(tools);
        self
    }

    /// Keeps these tools for it where the others are withheld from coordinators.
    #[must_use]
    pub fn keep<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.keep.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Lets it hand work to a kind of worker.
    #[must_use]
    pub fn kind(mut self, kind: WorkerKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Appends a part to its prompt.
    #[must_use]
    pub fn section(mut self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.sections.push(Section::new(id, text));
        self
    }
}

impl WorkerKind {
    /// Returns a kind of worker with all tools, no prompt, a fresh context and the model
    /// of the session that hands it work.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            tools: ToolFilter::All,
            persona: Vec::new(),
            context: ContextSource::Fresh,
            model: None,
        }
    }

    /// Gives it these tools and no others.
    #[must_use]
    pub fn only<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = ToolFilter::only(tools);
        self
    }

    /// Gives it all tools but these.
    #[must_use]
    pub fn all_but<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = ToolFilter::all_but(tools);
        self
    }

    /// Appends a part to its prompt.
    #[must_use]
    pub fn section(mut self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.persona.push(Section::new(id, text));
        self
    }

    /// Appends the part `persona` to its prompt.
    #[must_use]
    pub fn persona(self, text: impl Into<String>) -> Self {
        self.section("persona", text)
    }

    /// Chooses what it knows when it starts.
    #[must_use]
    pub const fn context(mut self, context: ContextSource) -> Self {
        self.context = context;
        self
    }

    /// Chooses its model: the row of the provider, and the provider's name of the model.
    #[must_use]
    pub fn model(mut self, provider: impl Into<String>, model: impl Into<String>) -> Self {
        self.model = Some(ModelChoice {
            provider: provider.into(),
            model: model.into(),
        });
        self
    }
}

impl ToolFilter {
    /// Returns these tools and no others.
    pub fn only<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self::Only(tools.into_iter().map(Into::into).collect())
    }

    /// Returns all tools but these.
    pub fn all_but<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self::AllBut(tools.into_iter().map(Into::into).collect())
    }
}
