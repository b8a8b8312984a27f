//! The journey of a call, read top to bottom in [`Dispatcher::travel`].

mod record;
mod run;

use std::{path::PathBuf, sync::Arc, time::Instant};

use arc_swap::ArcSwap;
use damper_call::{
    ApprovalId, CallId, Delivery, EffectClass, Ending, Fault, Mail, Outcome, Question, Session,
    ToolAnswer, ToolCall, ToolDefinition, VerdictKind, Whom,
};
use damper_journal::{CallState, Journal, JournalError, Refusal, Reviewed, now_ms};
use damper_wasm::Runtime;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    CallRequest, ModeView, OpenError,
    approvals::{Approvals, Pending, Reply},
    asking, catalogue,
    generation::{Generation, ToolEntry},
    guards::{Decision, Jury},
    mail, opening, outcome,
    redact::redact_text,
    reviews, routing,
};

/// The largest arguments of a call, in bytes.
///
/// A row cannot raise it: it bounds what the host itself has to hold before any row is asked.
const MAX_ARGUMENTS: usize = 1 << 20;

/// Everything that calls need and no generation owns.
#[derive(Debug)]
pub struct Machinery {
    /// Asks guests.
    pub runtime: Arc<Runtime>,
    /// Keeps the record.
    pub journal: Journal,
    /// Asks people.
    pub approvals: Approvals,
    /// The folders that no tool may touch.
    pub hidden: Vec<PathBuf>,
    /// Our own program, whose `__shell` subcommand confines what commands start.
    pub launcher: Option<PathBuf>,
    /// What catalogue plugins answered last.
    pub(crate) last_good: catalogue::LastGood,
}

impl Machinery {
    /// Puts the parts together. `hidden` are the folders that no tool may touch, `launcher` our
    /// own program, whose `__shell` subcommand confines what commands start.
    pub fn new(
        runtime: Arc<Runtime>,
        journal: Journal,
        hidden: Vec<PathBuf>,
        launcher: Option<PathBuf>,
    ) -> Self {
        Self {
            runtime,
            journal,
            approvals: Approvals::default(),
            hidden,
            launcher,
            last_good: catalogue::LastGood::default(),
        }
    }
}

/// Takes calls on their journey. Clones share everything.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    machinery: Machinery,
    current: ArcSwap<Generation>,
    generations: watch::Sender<u64>,
    /// The journeys under way; draining waits for them.
    journeys: TaskTracker,
}

/// A call on its way, after it was received.
struct Traveller {
    shared: Arc<Shared>,
    generation: Arc<Generation>,
    id: CallId,
    request: CallRequest,
    began: Instant,
}

impl Dispatcher {
    /// Returns a dispatcher without any row: until a generation is installed every tool is unknown.
    pub fn new(machinery: Machinery) -> Self {
        let (generations, _receiver) = watch::channel(0);
        let current = ArcSwap::from_pointee(Generation::empty());
        Self {
            shared: Arc::new(Shared {
                machinery,
                current,
                generations,
                journeys: TaskTracker::new(),
            }),
        }
    }

    /// Makes a generation the one that the next call gets. Calls in flight keep theirs.
    pub fn install(&self, generation: Generation) {
        let number = generation.number;
        let modes = generation.modes();
        let around = self.shared.machinery.runtime.around();
        around.set_modes(modes.iter().map(Into::into).collect());
        self.shared.current.store(Arc::new(generation));
        self.shared.generations.send_replace(number);
    }

    /// Returns the generation that the next call would get.
    pub fn current(&self) -> Arc<Generation> {
        self.shared.current.load_full()
    }

    /// Changes whenever a generation is installed, when the list of tools may have changed.
    pub fn generations(&self) -> watch::Receiver<u64> {
        self.shared.generations.subscribe()
    }

    /// Returns the approvals that calls raise.
    pub fn approvals(&self) -> &Approvals {
        &self.shared.machinery.approvals
    }

    /// Returns the journal that calls are kept in.
    pub fn journal(&self) -> &Journal {
        &self.shared.machinery.journal
    }

    pub(crate) fn machinery(&self) -> &Machinery {
        &self.shared.machinery
    }

    /// Returns how many calls are under way.
    pub fn calls_in_flight(&self) -> usize {
        self.shared.journeys.len()
    }

    /// Waits until no call is under way. New ones may still come in; the doors are closed first.
    pub async fn drained(&self) {
        self.shared.journeys.close();
        self.shared.journeys.wait().await;
        self.shared.journeys.reopen();
    }

    /// Opens a session, in a mode if one is named. Fails if it cannot be journalled or if the
    /// mode does not compose it.
    pub async fn open_session(
        &self,
        session: Session,
        mode: Option<&str>,
    ) -> Result<Arc<Session>, OpenError> {
        opening::open(&self.shared.machinery, &self.current(), session, mode).await
    }

    /// Returns all modes, in the order that people see.
    pub fn modes(&self) -> Vec<ModeView> {
        self.current().modes()
    }

    /// Returns the tools that exist for a session, sorted by name. A call asks the same function.
    pub async fn tools(&self, session: &Arc<Session>) -> Vec<Arc<ToolDefinition>> {
        let generation = self.current();
        catalogue::list(&self.shared.machinery, &generation, session)
            .await
            .into_iter()
            .map(|entry| Arc::clone(&entry.definition))
            .collect()
    }

    /// Returns one tool that a session could have, withheld or not, for doors that must know a
    /// schema before there is a call.
    pub fn tool_on_surface(&self, session: &Session, name: &str) -> Option<Arc<ToolDefinition>> {
        let generation = self.current();
        catalogue::on_surface(&generation, session)
            .find(|entry| entry.definition.name == name)
            .map(|entry| Arc::clone(&entry.definition))
    }

    /// Returns how a message between sessions is delivered.
    pub async fn delivery(&self, mail: &Arc<Mail>) -> Delivery {
        mail::delivery(&self.shared.machinery, &self.current(), mail).await
    }

    /// Takes a call on its journey. Never fails: whatever goes wrong is an outcome.
    ///
    /// Dropping the future cancels the call; its record is still completed.
    pub async fn call(&self, request: CallRequest) -> Outcome {
        let id = request.id.clone().unwrap_or_else(CallId::unique);
        let dropped = request.cancel.clone().drop_guard();
        let shared = Arc::clone(&self.shared);
        let journey = {
            let id = id.clone();
            self.shared
                .journeys
                .spawn(async move { shared.travel(id, request).await })
        };
        let outcome = journey.await;
        dropped.disarm();
        outcome.unwrap_or_else(|error| {
            tracing::error!(%error, call = %id, "the journey of a call panicked");
            outcome::fault(
                &id,
                &Fault::Host("the host failed; this is a bug in damper".to_owned()),
            )
        })
    }
}

impl Shared {
    /// The journey. Each step either leads on or ends with an outcome.
    async fn travel(self: Arc<Self>, id: CallId, request: CallRequest) -> Outcome {
        if let Some(outcome) = self.seen_before(&id, &request).await {
            return outcome;
        }
        let generation = self.current.load_full();
        let traveller = Traveller {
            generation,
            shared: self,
            id,
            request,
            began: Instant::now(),
        };
        if let Err(error) = traveller.record_received().await {
            return traveller.not_received(&error).await;
        }
        let (outcome, reviews) = match traveller.decide().await {
            Ok((call, arguments, entry)) => {
                let outcome = traveller.run(&call, &arguments, &entry).await;
                let reviews = traveller.review(&call, &outcome).await;
                (outcome, reviews)
            }
            Err(outcome) => (outcome, Vec::new()),
        };
        traveller.record_finished(outcome, reviews).await
    }

    /// Answers a call whose id the journal knows: a finished effect is never repeated, and one
    /// whose outcome is unknown is never repeated silently.
    async fn seen_before(&self, id: &CallId, request: &CallRequest) -> Option<Outcome> {
        request.id.as_ref()?;
        let unknown = |text: &str| Some(outcome::failed(id, Ending::Unknown, text.to_owned()));
        match self.machinery.journal.outcome_of(id).await {
            Ok(CallState::Unseen) => None,
            Ok(CallState::Finished(record)) => Some(outcome::recorded(id, *record)),
            Ok(CallState::Received) => {
                unknown("a call with this id is under way; wait for its outcome")
            }
            Ok(CallState::Started(EffectClass::None)) => unknown(
                "a call with this id is running; it changes nothing and may be made again under a new id",
            ),
            Ok(CallState::Started(EffectClass::Idempotent | EffectClass::Once)) => unknown(
                "a call with this id is running or was cut off; look at its effect before making it again",
            ),
            Err(error) => Some(outcome::denied(
                id,
                &format!("the journal cannot be read: {error}"),
            )),
        }
    }
}

/// A call that may run: frozen, with its arguments parsed and the tool that it means.
type Cleared = (Arc<ToolCall>, Map<String, Value>, ToolEntry);

impl Traveller {
    /// Whether the call may run: catalogue, arguments, guards, approval.
    async fn decide(&self) -> Result<Cleared, Outcome> {
        if self.request.arguments.len() > MAX_ARGUMENTS {
            let size = self.request.arguments.len();
            let text = format!(
                "the arguments have {size} bytes; a call takes at most {MAX_ARGUMENTS} (fixed by the host)"
            );
            return Err(outcome::fault(&self.id, &Fault::Caller(text)));
        }
        let session = &self.request.session;
        let machinery = &self.shared.machinery;
        let found = catalogue::find(machinery, &self.generation, session, &self.request.tool).await;
        let entry = match found {
            Some(entry) => entry.clone(),
            None => return Err(self.unknown_tool().await),
        };
        let arguments = entry
            .check
            .check(&entry.definition, &self.request.arguments)
            .map_err(|why| outcome::fault(&self.id, &Fault::Caller(why)))?;
        let call = Arc::new(self.freeze(&entry, &arguments));
        let decision = tokio::select! {
            decision = self.judge(&call) => decision?,
            () = self.request.cancel.cancelled() => return Err(outcome::cancelled(&self.id)),
        };
        match decision.verdict {
            VerdictKind::Allow => {}
            VerdictKind::Deny => return Err(outcome::denied(&self.id, &decision.reason)),
            VerdictKind::Ask => self.ask_person(&call, &decision).await?,
        }
        Ok((call, arguments, entry))
    }

    /// Asks the guards and records what they say. A guard whose state another call changed
    /// meanwhile is asked once more.
    async fn judge(&self, call: &Arc<ToolCall>) -> Result<Decision, Outcome> {
        let machinery = &self.shared.machinery;
        let mut jury = Jury::ask(machinery, &self.generation, call).await;
        loop {
            let decision = jury.decision();
            let recorded = self.record_decided(call, &decision, jury.keeps()).await;
            let Err(error) = recorded else {
                jury.count();
                return Ok(decision);
            };
            // Ends, because one that loses twice keeps nothing any more.
            match asking::conflict(&error) {
                Some(row) => jury.ask_again(machinery, call, row).await,
                None => return Err(self.unrecorded(&error)),
            }
        }
    }

    /// Lets plugins look at the answer of a tool that ran.
    async fn review(&self, call: &Arc<ToolCall>, outcome: &Outcome) -> Vec<Reviewed> {
        let answer = ToolAnswer {
            call: Arc::clone(call),
            ending: outcome.ending,
            output: outcome.output.clone(),
            micros: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        reviews::review(&self.shared.machinery, &self.generation, &Arc::new(answer)).await
    }

    /// Law 1: what cannot be journalled does not happen.
    async fn not_received(&self, error: &JournalError) -> Outcome {
        // Another call came in under the same id after this one was looked up.
        if let JournalError::Refused(Refusal::CallKnown(_)) = error
            && let Some(outcome) = self.shared.seen_before(&self.id, &self.request).await
        {
            return outcome;
        }
        outcome::denied(&self.id, &format!("the call cannot be journalled: {error}"))
    }

    async fn unknown_tool(&self) -> Outcome {
        let machinery = &self.shared.machinery;
        let known = catalogue::list(machinery, &self.generation, &self.request.session).await;
        let known: Vec<&str> = known
            .iter()
            .map(|entry| entry.definition.name.as_str())
            .collect();
        let name: String = self.request.tool.chars().take(64).collect();
        let text = match known.len() {
            0 => format!(
                "there is no tool `{name}`, nor any other: no row of the profile provides tools"
            ),
            _ => format!(
                "there is no tool `{name}`; there are `{}`",
                known.join("`, `")
            ),
        };
        outcome::fault(&self.id, &Fault::Caller(text))
    }

    fn freeze(&self, entry: &ToolEntry, arguments: &Map<String, Value>) -> ToolCall {
        let (command, paths) = ToolCall::facts(&entry.definition, arguments);
        ToolCall {
            id: self.id.clone(),
            session: Arc::clone(&self.request.session),
            tool: Arc::clone(&entry.definition),
            arguments: self.request.arguments.as_str().into(),
            command,
            paths,
            cwd: self.request.session.cwd.clone(),
            received_at_ms: now_ms(),
        }
    }

    /// Puts the question to a person and waits, as long as somebody is there to answer.
    async fn ask_person(&self, call: &Arc<ToolCall>, decision: &Decision) -> Result<(), Outcome> {
        let machinery = &self.shared.machinery;
        let question = Arc::new(Question {
            id: ApprovalId::unique(),
            call: Arc::clone(call),
            rules: decision.rules.clone(),
            reason: decision.reason.clone(),
            attended: machinery.approvals.attended(),
        });
        let (whom, row) = routing::route(machinery, &self.generation, &question).await;
        let (asked, refusal) = match whom {
            Whom::DefaultPath | Whom::RootSession => (call.session.root.clone(), None),
            Whom::OwnSession => (call.session.id.clone(), None),
            Whom::Nobody(why) => (call.session.root.clone(), Some(nobody(row.as_ref(), &why))),
        };
        let pending = Pending {
            id: question.id.clone(),
            call: self.id.clone(),
            session: call.session.id.clone(),
            asked,
            agent: call.session.agent.clone(),
            tool: call.tool.name.clone(),
            subject: call
                .command
                .clone()
                .unwrap_or_else(|| call.arguments.to_string()),
            cwd: call.cwd.display().to_string(),
            reason: decision.reason.clone(),
            display: decision.display.clone(),
            raised_at_ms: now_ms(),
        };
        self.record_raised(&pending).await?;
        let reply = match refusal {
            Some(refusal) => refusal,
            None => self.put_question(&pending).await,
        };
        self.record_answered(&pending, &reply).await?;
        match reply.allowed {
            true => Ok(()),
            false if self.request.cancel.is_cancelled() => Err(outcome::cancelled(&self.id)),
            false => Err(outcome::not_approved(&self.id, &decision.reason, &reply)),
        }
    }

    async fn put_question(&self, pending: &Pending) -> Reply {
        let raised = match self.shared.machinery.approvals.raise(pending.clone()) {
            Err(reply) => return reply,
            Ok(raised) => raised,
        };
        run::notify(&self.generation.notify, pending);
        tokio::select! {
            reply = raised.answer() => reply,
            () = self.request.cancel.cancelled() => Reply {
                allowed: false,
                by: "caller".to_owned(),
                why: Some("the call was taken back".to_owned()),
            },
        }
    }

    fn cancel(&self) -> &CancellationToken {
        &self.request.cancel
    }
}

/// The reply where a plugin says that nobody is asked. Whatever it says, it allows nothing.
fn nobody(row: Option<&damper_call::RowId>, why: &str) -> Reply {
    let row = row.map_or_else(String::new, |row| {
        format!("the row `{row}` has nobody asked: ")
    });
    Reply {
        allowed: false,
        by: "host".to_owned(),
        why: Some(redact_text(&format!("{row}{why}"))),
    }
}
