//! Noticing edits: events where the system has them, and a look every two seconds, since
//! events get lost and some file systems send none.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, ModifyKind},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::reload::Reloader;

/// How long files must be quiet before they are read.
const SETTLE: Duration = Duration::from_millis(100);

/// How long an edit waits at most, for files that are never quiet or never closed.
const SETTLE_MOST: Duration = Duration::from_secs(1);

/// How often files are looked at without any event.
const LOOK: Duration = Duration::from_secs(2);

/// How many symbolic links are followed from one file to the next.
const MAX_LINKS: usize = 16;

/// How edits are noticed, for status.
pub(crate) type WatchState = Arc<Mutex<String>>;

/// Watches the files that the running rows depend on and reloads, until `stop`.
pub(crate) async fn watch(reloader: Arc<Reloader>, state: WatchState, stop: CancellationToken) {
    let (events, received) = mpsc::unbounded_channel();
    let mut watch = Watch {
        files: BTreeSet::new(),
        looks: BTreeMap::new(),
        watched: HashSet::new(),
        system: start(events),
        received,
        state,
    };
    let mut missed = watch.follow(&reloader);
    loop {
        let edited = tokio::select! {
            edited = watch.edited(missed) => edited,
            () = stop.cancelled() => return,
        };
        if edited {
            // What changes from here on is not sure to be read.
            watch.looks = looks(&watch.files);
            reloader.reload().await;
        }
        missed = watch.follow(&reloader);
    }
}

struct Watch {
    files: BTreeSet<PathBuf>,
    /// What each file looked like when it was last looked at.
    looks: BTreeMap<PathBuf, Look>,
    watched: HashSet<PathBuf>,
    system: Result<RecommendedWatcher, String>,
    received: mpsc::UnboundedReceiver<notify::Result<Event>>,
    state: WatchState,
}

/// What can be told of a file without reading it: enough to notice any edit, links included.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    links: Vec<PathBuf>,
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

fn start(
    events: mpsc::UnboundedSender<notify::Result<Event>>,
) -> Result<RecommendedWatcher, String> {
    let send = move |event| {
        if events.send(event).is_err() {
            tracing::debug!("an event came after the watcher had ended");
        }
    };
    notify::recommended_watcher(send).map_err(|error| error.to_string())
}

impl Watch {
    /// Takes over the files that the last reload depended on. Returns whether one of them may
    /// have been edited since it was read: it was not watched yet, or looks different.
    fn follow(&mut self, reloader: &Reloader) -> bool {
        self.files.clone_from(
            &reloader
                .seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .files,
        );
        let folders: HashSet<PathBuf> = self
            .files
            .iter()
            .flat_map(|file| folders_of(file))
            .collect();
        let mut trouble = None;
        match &mut self.system {
            Err(why) => trouble = Some(why.clone()),
            Ok(system) => {
                for gone in self.watched.difference(&folders) {
                    // A folder that was removed is no longer watched; either way it is gone.
                    if let Err(error) = system.unwatch(gone) {
                        tracing::debug!(%error, folder = %gone.display(), "cannot unwatch");
                    }
                }
                self.watched.retain(|folder| folders.contains(folder));
                for folder in &folders {
                    if self.watched.contains(folder) {
                        continue;
                    }
                    match system.watch(folder, RecursiveMode::NonRecursive) {
                        Ok(()) => {
                            self.watched.insert(folder.clone());
                        }
                        Err(error) => trouble = Some(error.to_string()),
                    }
                }
            }
        }
        // Only now is every later change an event.
        let before = std::mem::replace(&mut self.looks, looks(&self.files));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = match trouble {
            None => "events".to_owned(),
            Some(why) => format!(
                "polling every {} s, because events cannot be had: {why}",
                LOOK.as_secs()
            ),
        };
        self.looks != before
    }

    /// Waits for the next edit, unless one was `missed`, and until it has settled. Returns
    /// whether there was one.
    async fn edited(&mut self, missed: bool) -> bool {
        let mut open: HashSet<PathBuf> = HashSet::new();
        if missed {
            self.settle(open).await;
            return true;
        }
        tokio::select! {
            event = self.received.recv() => {
                if !self.concerns(event, &mut open) {
                    return false;
                }
            }
            () = tokio::time::sleep(LOOK) => {
                if !self.looks_different() {
                    return false;
                }
            }
        }
        self.settle(open).await;
        true
    }

    /// Waits until no file changes any more and none that was written is still open.
    async fn settle(&mut self, mut open: HashSet<PathBuf>) {
        let began = Instant::now();
        while began.elapsed() < SETTLE_MOST {
            match tokio::time::timeout(SETTLE, self.received.recv()).await {
                Ok(event) => {
                    self.concerns(event, &mut open);
                }
                Err(_quiet) if open.is_empty() => return,
                Err(_quiet) => {}
            }
        }
    }

    /// Returns whether an event may be about one of the files, keeping the set of files that
    /// somebody has written to and not yet closed.
    fn concerns(&self, event: Option<notify::Result<Event>>, open: &mut HashSet<PathBuf>) -> bool {
        let event = match event {
            Some(Ok(event)) => event,
            // Lost events, an overflow: everything may have changed.
            Some(Err(_)) => return true,
            None => return false,
        };
        if event.need_rescan() {
            return true;
        }
        let ours = event
            .paths
            .iter()
            .filter(|path| self.is_ours(path))
            .cloned()
            .collect::<Vec<_>>();
        match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                for path in &ours {
                    open.remove(path);
                }
            }
            // Reading is no edit; our own reading would never end.
            EventKind::Access(_) => return false,
            EventKind::Modify(ModifyKind::Data(_)) if cfg!(target_os = "linux") => {
                open.extend(ours.iter().cloned())
            }
            EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Any
            | EventKind::Other => {}
        }
        !ours.is_empty()
    }

    fn is_ours(&self, path: &Path) -> bool {
        let on_the_way = |look: &Look| {
            look.links
                .iter()
                .any(|link| link == path || link.starts_with(path))
        };
        self.files.contains(path) || self.looks.values().any(on_the_way)
    }

    fn looks_different(&self) -> bool {
        self.files
            .iter()
            .any(|file| self.looks.get(file) != Some(&look(file)))
    }
}

fn looks(files: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Look> {
    files
        .iter()
        .map(|file| (file.clone(), look(file)))
        .collect()
}

fn look(file: &Path) -> Look {
    let links = links_of(file);
    let metadata = fs::metadata(file).ok();
    Look {
        links,
        size: metadata.as_ref().map_or(0, fs::Metadata::len),
        modified: metadata
            .as_ref()
            .and_then(|metadata| metadata.modified().ok()),
        inode: metadata.as_ref().map_or(0, inode),
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &fs::Metadata) -> u64 {
    0
}

/// Returns the file and every path on the way to what it resolves to: each link of the chain,
/// links among its folders included.
fn links_of(file: &Path) -> Vec<PathBuf> {
    let mut links = vec![file.to_owned()];
    let mut next = file.to_owned();
    for _ in 0..MAX_LINKS {
        let Some((link, target)) = first_link(&next) else {
            break;
        };
        let Ok(rest) = next.strip_prefix(&link) else {
            break;
        };
        let resolved = link.parent().unwrap_or(Path::new("/")).join(target);
        next = if rest.as_os_str().is_empty() {
            resolved
        } else {
            resolved.join(rest)
        };
        links.push(link);
        links.push(next.clone());
    }
    links
}

fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut folders: Vec<&Path> = path.ancestors().collect();
    folders.reverse();
    folders
        .into_iter()
        .find_map(|part| Some((part.to_owned(), fs::read_link(part).ok()?)))
}

/// Returns the folders whose events tell of edits of a file: those of every link on the way,
/// and the nearest that exists where one does not.
fn folders_of(file: &Path) -> Vec<PathBuf> {
    let nearest = |path: &PathBuf| {
        path.ancestors()
            .skip(1)
            .find(|folder| folder.is_dir())
            .map(Path::to_owned)
    };
    links_of(file).iter().filter_map(nearest).collect()
}
