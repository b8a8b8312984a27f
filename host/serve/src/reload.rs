//! Edits take effect: files are read, composed, prepared and, if anything changed, installed.

mod last_good;

use std::{
    collections::BTreeSet,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use damper_dispatch::{Components, Dispatcher, Fallback, prepare};
use damper_journal::{Change, Durability, Event, ProfileApplied, RowResult, host_stream, now_ms};
use damper_profile::{Composition, ProfileError, RowKind, Source, compose};
use damper_wasm::Runtime;
use serde::{Deserialize, Serialize};

use crate::{
    find::{self, Known, Share},
    home::Home,
    status::{LayerView, ProblemView},
};

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReloadReport {
    /// The generation that runs now.
    pub generation: u64,
    /// Whether it is a new one.
    pub installed: bool,
    /// What became of each row.
    pub results: Vec<RowResult>,
    /// What is wrong in the files.
    pub problems: Vec<ProblemView>,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// The files of a profile as they were read.
#[derive(Debug, Clone)]
pub struct Layers {
    /// The profile's file.
    pub profile: (PathBuf, Vec<u8>),
    /// The patches, the user's first. One that does not exist is empty.
    pub patches: Vec<(PathBuf, Vec<u8>)>,
}

impl Layers {
    /// Reads the files of a profile.
    pub fn read(home: &Home, share: &Share, profile: &str, extra: &[PathBuf]) -> io::Result<Self> {
        let own = home.patch(profile);
        let mut patches = vec![(own.clone(), find::read_small(&own)?.unwrap_or_default())];
        for path in extra {
            // One's own patch may be absent; one that was asked for by name may not.
            let bytes = find::read_small(path)?
                .ok_or_else(|| io::Error::other(format!("there is no `{}`", path.display())))?;
            patches.push((path.clone(), bytes));
        }
        Ok(Self {
            profile: find::profile(home, share, profile)?,
            patches,
        })
    }
}

/// Composes the files of a profile.
pub fn compose_layers(layers: &Layers) -> Result<Composition, ProfileError> {
    let (profile, bytes) = &layers.profile;
    let patches: Vec<Source<'_>> = layers
        .patches
        .iter()
        .map(|(path, bytes)| Source::at(path, bytes))
        .collect();
    compose(&Source::at(profile, bytes), &patches)
}

/// Applies edits, one at a time.
#[derive(Debug)]
pub(crate) struct Reloader {
    pub(crate) home: Home,
    pub(crate) share: Share,
    pub(crate) profile: String,
    /// Patches after the user's own.
    pub(crate) extra: Vec<PathBuf>,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) dispatcher: Dispatcher,
    /// Watcher and commands ask for reloads; one runs at a time, so that the newest wins. It
    /// holds what they know of the component files.
    pub(crate) one_at_a_time: tokio::sync::Mutex<Known>,
    /// Written by the reload, read by status and the watcher.
    pub(crate) seen: Mutex<Seen>,
}

/// What the last look at the files found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) composition: Option<Arc<Composition>>,
    pub(crate) layers: Vec<LayerView>,
    pub(crate) problems: Vec<ProblemView>,
    /// Whether the host was started on the last good composition and the files still do not read.
    pub(crate) runs_last_good: bool,
    /// What the last edit that changed or refused anything did.
    pub(crate) last_edit: Option<ReloadReport>,
    /// Every file on which the running rows depend, existing or not.
    pub(crate) files: BTreeSet<PathBuf>,
}

/// What the files say, or why nothing can be made of them.
enum Reading {
    /// They compose; single entries may be refused.
    Composed(Composition),
    /// A file as a whole was refused, so that nothing changes.
    Broken(Vec<ProblemView>),
}

impl Reloader {
    /// Looks at the files and makes what they say run, as far as it can be had.
    pub(crate) async fn reload(&self) -> ReloadReport {
        let mut known = self.one_at_a_time.lock().await;
        let layers = Layers::read(&self.home, &self.share, &self.profile, &self.extra);
        let mut files = self.own_files();
        if let Ok(layers) = &layers {
            files.insert(layers.profile.0.clone());
        }
        let (reading, layer_views) = read(layers);
        let is_cold = self.dispatcher.current().number == 0;
        let is_broken = matches!(reading, Reading::Broken(_));
        let (composition, problems) = match reading {
            Reading::Composed(composition) => {
                let problems = problems_of(&composition);
                (Some(composition), problems)
            }
            // With nothing running there is nothing to leave as it is: the last good is next.
            Reading::Broken(problems) if is_cold => (self.last_good_composition(), problems),
            Reading::Broken(problems) => (None, problems),
        };
        let problems =
            self.told_with_last_good(problems, is_broken, is_cold && composition.is_some());
        let report = match &composition {
            Some(composition) => {
                let problems = problems.clone();
                self.apply(composition, problems, &mut known, &mut files)
                    .await
            }
            None => self.unchanged(problems.clone()),
        };
        if composition.is_none() {
            files.extend(
                self.seen
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .files
                    .iter()
                    .cloned(),
            );
        }
        self.remember(&report, composition, layer_views, problems, files)
            .await;
        report
    }

    /// Adds to what is wrong that the last good composition runs, for as long as it does.
    fn told_with_last_good(
        &self,
        mut problems: Vec<ProblemView>,
        is_broken: bool,
        starts: bool,
    ) -> Vec<ProblemView> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.runs_last_good = is_broken && (starts || seen.runs_last_good);
        if seen.runs_last_good {
            problems.push(problem(
                "until the profile reads again, the last good composition runs".to_owned(),
            ));
        }
        problems
    }

    fn own_files(&self) -> BTreeSet<PathBuf> {
        let own = self.home.profiles().join(format!("{}.yaml", self.profile));
        std::iter::once(own)
            .chain(std::iter::once(self.home.patch(&self.profile)))
            .chain(self.extra.clone())
            .collect()
    }

    async fn apply(
        &self,
        composition: &Composition,
        problems: Vec<ProblemView>,
        known: &mut Known,
        files: &mut BTreeSet<PathBuf>,
    ) -> ReloadReport {
        let mut components = Components::default();
        for row in &composition.rows {
            if let RowKind::Plugin(plugin) = &row.kind {
                let paths = find::component_paths(&self.home, &self.share, plugin);
                components
                    .0
                    .entry(plugin.clone())
                    .or_insert_with(|| find::capture(&find::component_path(&paths), known));
                files.extend(paths);
            }
        }
        let previous = self.dispatcher.current();
        let fallback = if previous.number == 0 {
            self.last_good_rows()
        } else {
            Fallback::default()
        };
        let prepared = prepare(
            &self.runtime,
            &previous,
            composition,
            &components,
            &fallback,
        )
        .await;
        for note in &prepared.generation.notes {
            tracing::warn!("{note}");
        }
        for failure in prepared.failures {
            self.journal(failure).await;
        }
        let is_new = previous.number == 0
            || previous.notify != prepared.generation.notify
            || prepared
                .results
                .iter()
                .any(|result| result.change != Change::Unchanged);
        let number = if is_new {
            prepared.generation.number
        } else {
            previous.number
        };
        if is_new {
            self.dispatcher.install(prepared.generation);
            // Writing to disk takes longer than all the rest, so calls obey the edit already.
            let installed = self.dispatcher.current();
            last_good::keep(&self.home, composition, &installed, &components);
        }
        ReloadReport {
            generation: number,
            installed: is_new,
            results: prepared.results,
            problems,
            at_ms: now_ms(),
        }
    }

    fn unchanged(&self, problems: Vec<ProblemView>) -> ReloadReport {
        let current = self.dispatcher.current();
        let results = current.rows.iter().map(|row| RowResult {
            row: row.id.clone(),
            change: Change::Unchanged,
            digest: row.digest(),
            reason: None,
        });
        ReloadReport {
            generation: current.number,
            installed: false,
            results: results.collect(),
            problems,
            at_ms: now_ms(),
        }
    }

    async fn remember(
        &self,
        report: &ReloadReport,
        composition: Option<Composition>,
        layers: Vec<LayerView>,
        problems: Vec<ProblemView>,
        files: BTreeSet<PathBuf>,
    ) {
        let is_news = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let is_news = report.installed || seen.problems != problems;
            if let Some(composition) = composition {
                seen.composition = Some(Arc::new(composition));
            }
            if is_news {
                seen.last_edit = Some(report.clone());
            }
            (seen.layers, seen.problems, seen.files) = (layers, problems, files);
            is_news
        };
        if is_news {
            let applied = ProfileApplied {
                generation: report.generation,
                results: report.results.clone(),
                problems: report
                    .problems
                    .iter()
                    .map(|problem| problem.text.clone())
                    .collect(),
            };
            self.journal(applied).await;
        }
    }

    /// Records what belongs to no session. The edit counts even if that fails: calls are denied
    /// at their own records then.
    async fn journal(&self, event: impl Into<Event>) {
        let journal = self.dispatcher.journal();
        if let Err(error) = journal
            .append(&host_stream(), event, Durability::Process)
            .await
        {
            tracing::error!(%error, "cannot journal an edit of the profile");
        }
    }

    fn last_good_composition(&self) -> Option<Composition> {
        match last_good::composition(&self.home) {
            Ok(composition) => composition,
            Err(why) => {
                tracing::error!(why, "the last good composition cannot be had");
                None
            }
        }
    }

    fn last_good_rows(&self) -> Fallback {
        last_good::rows(&self.home).unwrap_or_else(|why| {
            tracing::warn!(why, "the last good rows cannot be had");
            Fallback::default()
        })
    }
}

fn read(layers: io::Result<Layers>) -> (Reading, Vec<LayerView>) {
    let layers = match layers {
        Ok(layers) => layers,
        Err(error) => {
            return (
                Reading::Broken(vec![problem(error.to_string())]),
                Vec::new(),
            );
        }
    };
    let profile = layers.profile.0.display().to_string();
    let composition = match compose_layers(&layers) {
        Ok(composition) => composition,
        Err(error) => {
            let view = LayerView {
                file: profile,
                applied: false,
                error: Some(error.to_string()),
            };
            return (
                Reading::Broken(vec![problem(error.to_string())]),
                vec![view],
            );
        }
    };
    let views = composition.layers.iter().map(|layer| LayerView {
        file: layer.name.to_string(),
        applied: layer.parsed.is_ok(),
        error: layer.parsed.as_ref().err().map(ToString::to_string),
    });
    let views: Vec<LayerView> = views.collect();
    let broken: Vec<ProblemView> = views
        .iter()
        .filter_map(|view| view.error.clone())
        .map(problem)
        .collect();
    if broken.is_empty() {
        (Reading::Composed(composition), views)
    } else {
        (Reading::Broken(broken), views)
    }
}

fn problems_of(composition: &Composition) -> Vec<ProblemView> {
    composition
        .rejected
        .iter()
        .map(|rejected| ProblemView {
            text: rejected.to_string(),
            row: rejected.row.as_ref().map(ToString::to_string),
        })
        .collect()
}

fn problem(text: String) -> ProblemView {
    ProblemView { text, row: None }
}
