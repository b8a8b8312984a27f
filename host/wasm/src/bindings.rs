//! What `wit/` means in Rust. Generated; the world holds all hooks and the host takes each
//! as optional.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "plugin",
    imports: {
        "damper:plugin/files.stat": async | trappable,
        "damper:plugin/files.read": async | trappable,
        "damper:plugin/http.send": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "damper:plugin/types.call": crate::imports::call::CallFacts,
        "damper:plugin/types.session": crate::imports::session::SessionFacts,
        "damper:plugin/types.mail": crate::imports::mail::MailFacts,
        "damper:plugin/types.question": crate::imports::question::QuestionFacts,
        "damper:plugin/types.outcome": crate::imports::outcome::OutcomeFacts,
    },
});
