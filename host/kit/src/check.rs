//! `damper plugin check`: whether this host would take a component, told from its bytes.
//!
//! Runs no code and compiles nothing. Everything that is wrong is told at once, with the way
//! out of it.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    thread,
};

use damper_call::Digest;
use damper_wasm::{MAX_COMPONENT, Manifest, ManifestError, Runtime, read_manifest};
use semver::Version;
use serde::Serialize;
use wasmparser::{Parser, Payload};

use crate::contract::{Contract, Interface, PACKAGE, read_component};

/// How deep components may be nested. Tools nest them three deep; what validates a component
/// keeps all levels at once.
const MAX_DEPTH: usize = 32;

/// The most bytes of declared types. Components that import all of WASI have some ten thousand;
/// each three bytes can be a level of nesting, and what reads types calls itself.
const MAX_TYPES: usize = 256 << 10;

/// The stack for as many levels as [`MAX_TYPES`] has room for. Only what is used is taken.
const STACK: usize = 512 << 20;

/// Whether a finding keeps the host from taking a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The host refuses it.
    Refused,
    /// The host takes it; its author should know.
    Remark,
}

/// Something about a component that its author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub weight: Weight,
    /// What is so, in words that follow the file's name.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

impl Finding {
    fn refused(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            weight: Weight::Refused,
            what: what.into(),
            way_out: way_out.into(),
        }
    }

    fn remark(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            weight: Weight::Remark,
            what: what.into(),
            way_out: way_out.into(),
        }
    }
}

/// An interface that a component imports or exports, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Surface {
    /// `package:name/interface@version`.
    pub interface: String,
    /// Its functions that the component names.
    pub functions: Vec<String>,
}

/// What is known of a component file without running it.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The file.
    pub file: PathBuf,
    /// Its size, if there is such a file.
    pub bytes: Option<u64>,
    /// The digest of its content, if it was read.
    pub digest: Option<Digest>,
    /// The versions of the contract that this host serves.
    pub host_api: String,
    /// What it says about itself, if that reads.
    pub manifest: Option<Manifest>,
    /// What it imports.
    pub imports: Vec<Surface>,
    /// What it exports.
    pub exports: Vec<Surface>,
    /// What is wrong, or worth knowing.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Returns whether this host would refuse the component.
    pub fn is_refused(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.weight == Weight::Refused)
    }
}

/// Checks a component file.
///
/// # Errors
///
/// Only if this binary's own contract does not read. What is wrong with the file is a finding.
pub fn check(path: &Path) -> anyhow::Result<Report> {
    let contract = Contract::built_in()?;
    let mut report = Report {
        file: path.to_owned(),
        bytes: None,
        digest: None,
        host_api: contract.range(),
        manifest: None,
        imports: Vec::new(),
        exports: Vec::new(),
        findings: Vec::new(),
    };
    match read(path, &mut report.bytes) {
        Ok(component) => {
            report.digest = Some(Runtime::digest(&component));
            look_into(&component, &contract, &mut report);
        }
        Err(finding) => report.findings.push(finding),
    }
    Ok(report)
}

/// Returns what keeps the host from linking a component that has no manifest yet.
pub(crate) fn check_imports(component: &[u8]) -> anyhow::Result<Vec<Finding>> {
    let contract = Contract::built_in()?;
    let (imports, _exports) = read_component(component)?;
    Ok(findings_of_imports(&imports, &contract)
        .into_iter()
        .filter(|finding| finding.weight == Weight::Refused)
        .collect())
}

/// Reads a component file of a size that the host takes, and nothing of one that it does not.
fn read(path: &Path, size: &mut Option<u64>) -> Result<Vec<u8>, Finding> {
    let failed = |error: io::Error| {
        if error.kind() == io::ErrorKind::NotFound {
            Finding::refused(
                "does not exist",
                "name a file that `damper plugin build` has printed",
            )
        } else {
            Finding::refused(
                format!("cannot be read: {error}"),
                "make it readable for yourself",
            )
        }
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(Finding::refused(
            "is not a regular file",
            "name the component itself, a file that ends in `.wasm`",
        ));
    }
    *size = Some(metadata.len());
    if metadata.len() > MAX_COMPONENT as u64 {
        return Err(Finding::refused(
            format!(
                "is {} MiB large; components have at most {} MiB",
                metadata.len() >> 20,
                MAX_COMPONENT >> 20
            ),
            "build it in release, with `strip` and `lto`, and leave large data out of it",
        ));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_COMPONENT as u64).read_to_end(&mut bytes))
        .map_err(failed)?;
    Ok(bytes)
}

fn look_into(component: &[u8], contract: &Contract, report: &mut Report) {
    match read_manifest(component) {
        Ok(manifest) => report.manifest = Some(manifest),
        Err(error) => {
            let is_a_component = matches!(
                error,
                ManifestError::Missing
                    | ManifestError::Ambiguous
                    | ManifestError::NotLast
                    | ManifestError::Malformed(_)
                    | ManifestError::Api(_)
            );
            report.findings.push(of_manifest(&error, contract));
            if !is_a_component {
                return;
            }
        }
    }
    if let Some(finding) = too_deep(component) {
        report.findings.push(finding);
        return;
    }
    let (imports, exports) = match read_on_deep_stack(component) {
        Ok(surface) => surface,
        Err(error) => {
            report.findings.push(Finding::refused(
                format!("does not read as a component: {error:#}"),
                "build it anew with `damper plugin build`",
            ));
            return;
        }
    };
    report
        .findings
        .extend(findings_of_imports(&imports, contract));
    if let Some(manifest) = &report.manifest {
        let of_exports = findings_of_exports(&exports, manifest, contract);
        report.findings.extend(of_exports);
    }
    report.imports = imports.iter().map(surface).collect();
    report.exports = exports.iter().map(surface).collect();
}

fn surface(interface: &Interface) -> Surface {
    Surface {
        interface: interface.id(),
        functions: interface.functions.iter().cloned().collect(),
    }
}

fn of_manifest(error: &ManifestError, contract: &Contract) -> Finding {
    let way_out = match error {
        ManifestError::NotWasm(start) if start.contains("is 0 bytes") => {
            "the file is empty: whatever wrote it did not finish; build or copy it again".to_owned()
        }
        ManifestError::NotWasm(start) if start.contains('<') => {
            "it looks like a web page: download the file itself, not the page that shows it"
                .to_owned()
        }
        ManifestError::NotWasm(_) => {
            "name the component itself, a file that ends in `.wasm`".to_owned()
        }
        ManifestError::CoreModule => {
            "run `damper plugin build` in the project's folder; it makes a component of the module"
                .to_owned()
        }
        ManifestError::Damaged { .. } => {
            "the file is cut off or changed; build it or copy it again".to_owned()
        }
        ManifestError::Missing => {
            "build it with `damper plugin build`, which puts the manifest in".to_owned()
        }
        ManifestError::Ambiguous | ManifestError::NotLast => {
            "build it anew with `damper plugin build`, and run no other tool over the result"
                .to_owned()
        }
        ManifestError::Malformed(_) => format!(
            "correct what the plugin says of itself; a newer plugin may need a newer host than \
             this one, which serves {}",
            contract.range()
        ),
        ManifestError::Api(_) => format!(
            "build it with the SDK of this host, which serves {}; `damper plugin new` hands it out",
            contract.range()
        ),
    };
    Finding::refused(error.to_string(), way_out)
}

/// Looks for what would keep a reader of components from ending well. `parse_all` itself takes
/// the levels one by one and leaves types unread.
fn too_deep(component: &[u8]) -> Option<Finding> {
    let mut depth = 0_usize;
    let mut types = 0_usize;
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        if let Payload::ModuleSection { .. } | Payload::ComponentSection { .. } = payload {
            depth += 1;
        } else if let Payload::End(_) = payload {
            depth = depth.saturating_sub(1);
        } else if let Payload::ComponentTypeSection(section) = payload {
            types += section.range().len();
        }
        let what = if depth > MAX_DEPTH {
            format!("nests components more than {MAX_DEPTH} deep")
        } else if types > MAX_TYPES {
            format!("declares more than {} KiB of types", MAX_TYPES >> 10)
        } else {
            continue;
        };
        return Some(Finding::refused(
            what,
            "no compiler makes this; build it anew with `damper plugin build`",
        ));
    }
    None
}

/// Reads a component on a stack that the deepest types fit on.
fn read_on_deep_stack(component: &[u8]) -> anyhow::Result<(Vec<Interface>, Vec<Interface>)> {
    thread::scope(|scope| {
        let reader = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || read_component(component))?;
        reader
            .join()
            .map_err(|_panic| anyhow::anyhow!("it is so damaged that its reader gave up"))?
    })
}

fn findings_of_imports(imports: &[Interface], contract: &Contract) -> Vec<Finding> {
    imports
        .iter()
        .flat_map(|import| {
            if import.is_ours() {
                findings_of_our_import(import, contract)
            } else {
                finding_of_foreign_import(import).into_iter().collect()
            }
        })
        .collect()
}

fn findings_of_our_import(import: &Interface, contract: &Contract) -> Vec<Finding> {
    let id = import.id();
    if let Err(finding) = fits_track(import, contract, "imports") {
        return vec![finding];
    }
    let Some(offered) = contract.imports.get(&import.name) else {
        let known: Vec<&str> = contract.imports.keys().map(String::as_str).collect();
        return vec![Finding::refused(
            format!("imports `{id}`, which this host does not offer"),
            format!(
                "use a newer host, or do without it; this one serves {PACKAGE} {} with `{}`",
                contract.range(),
                known.join("`, `")
            ),
        )];
    };
    let missing: Vec<Finding> = import
        .functions
        .difference(offered)
        .map(|function| {
            Finding::refused(
                format!("imports `{function}` of `{id}`, which this host does not have"),
                format!(
                    "the plugin is newer than this host: use a newer host, or build it with the \
                     SDK of this one, which serves {}",
                    contract.range()
                ),
            )
        })
        .collect();
    let is_newer = import
        .version
        .as_ref()
        .is_some_and(|version| *version > contract.version);
    if missing.is_empty() && is_newer {
        return vec![Finding::remark(
            format!(
                "imports `{id}`, which is newer than this host's {}; all that it uses is there",
                contract.version
            ),
            "nothing needs to be done",
        )];
    }
    missing
}

/// Checks that an interface of the contract has a version that is matched at all.
fn fits_track(interface: &Interface, contract: &Contract, does: &str) -> Result<(), Finding> {
    let id = interface.id();
    let rebuild = format!(
        "build it with the SDK of this host, which serves {}; `damper plugin new` hands it out",
        contract.range()
    );
    match &interface.version {
        None => Err(Finding::refused(
            format!("{does} `{id}` without a version"),
            rebuild,
        )),
        Some(version) if !version.pre.is_empty() => {
            Err(Finding::refused(pre_release(does, &id, version), rebuild))
        }
        Some(version) if version.major != contract.version.major => Err(Finding::refused(
            format!(
                "{does} `{id}`, of another major version of the plugin contract than this host's \
                 {}",
                contract.version
            ),
            rebuild,
        )),
        Some(_release) => Ok(()),
    }
}

fn pre_release(does: &str, id: &str, version: &Version) -> String {
    format!(
        "{does} `{id}`, a pre-release: `-{}` does not match any release",
        version.pre
    )
}

fn finding_of_foreign_import(import: &Interface) -> Option<Finding> {
    let id = import.id();
    if damper_wasm::is_offered(&id) {
        return None;
    }
    if let Some(version) = &import.version
        && !version.pre.is_empty()
    {
        let release = Version::new(version.major, version.minor, version.patch);
        return Some(Finding::refused(
            pre_release("imports", &id, version),
            format!("build it with tools that use the release {release} or a later one"),
        ));
    }
    let what = format!("imports `{id}`, which this host does not offer");
    let Some(package) = &import.package else {
        return Some(Finding::refused(
            what,
            "compile for `wasm32-wasip1` or `wasm32-wasip2`, and import interfaces of \
             `damper:plugin` and WASI alone",
        ));
    };
    let way_out = match package.as_str() {
        "wasi:sockets" | "wasi:http" => format!(
            "there is no network for guests but what `{PACKAGE}` offers; leave out the crate that \
             opens connections"
        ),
        package if package.starts_with("wasi:") => {
            "guests have `io`, `clocks`, `random`, `filesystem` and `cli` of WASI 0.2; build for \
             `wasm32-wasip1` or `wasm32-wasip2`"
                .to_owned()
        }
        _ => format!("guests import interfaces of `{PACKAGE}` and WASI alone"),
    };
    Some(Finding::refused(what, way_out))
}

fn findings_of_exports(
    exports: &[Interface],
    manifest: &Manifest,
    contract: &Contract,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let named = crate::hooks(manifest);
    for hook in &named {
        let exported: Vec<&Interface> = exports
            .iter()
            .filter(|export| export.is_ours() && export.name == *hook)
            .collect();
        match exported[..] {
            [] => findings.push(Finding::refused(
                format!("names the hook `{hook}` in its manifest but does not export it"),
                format!(
                    "export it with the SDK's `export_{hook}!`, or strike it from the manifest"
                ),
            )),
            _ => findings.extend(
                exported
                    .iter()
                    .flat_map(|export| findings_of_hook(export, contract)),
            ),
        }
    }
    for export in exports {
        let is_hook = contract.exports.contains_key(&export.name)
            && !matches!(export.name.as_str(), "describe" | "configure");
        if export.is_ours() && is_hook && !named.contains(&export.name) {
            findings.push(Finding::remark(
                format!(
                    "exports `{}`, which its manifest does not name: it will never be asked",
                    export.id()
                ),
                format!("name `{}` among the manifest's hooks", export.name),
            ));
        }
    }
    findings
}

fn findings_of_hook(export: &Interface, contract: &Contract) -> Vec<Finding> {
    if let Err(finding) = fits_track(export, contract, "exports") {
        return vec![finding];
    }
    let Some(needed) = contract.exports.get(&export.name) else {
        return Vec::new();
    };
    needed
        .difference(&export.functions)
        .map(|function| {
            Finding::refused(
                format!(
                    "exports `{}` without its function `{function}`",
                    export.id()
                ),
                "build it with the SDK of this host; `damper plugin new` hands it out",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{ComponentBuilder, ComponentTypeRef, InstanceType, PrimitiveValType};

    use super::{Contract, check_imports, look_into};

    /// Returns a component that imports one interface with these functions.
    fn importing(interface: &str, functions: &[&str]) -> Vec<u8> {
        let mut instance = InstanceType::new();
        for (index, function) in functions.iter().enumerate() {
            let index = u32::try_from(index).expect("few");
            let no_parameters: [(&str, PrimitiveValType); 0] = [];
            instance.ty().function().params(no_parameters).result(None);
            instance.export(*function, ComponentTypeRef::Func(index));
        }
        let mut component = ComponentBuilder::default();
        let ty = component.type_instance(None, &instance);
        component.import(interface, ComponentTypeRef::Instance(ty));
        component.finish()
    }

    #[track_caller]
    fn check(interface: &str, functions: &[&str], expected: &[(&str, &str)]) {
        let findings = check_imports(&importing(interface, functions)).expect("it reads");
        assert_eq!(findings.len(), expected.len(), "{interface}: {findings:?}");
        for (finding, (what, way_out)) in findings.iter().zip(expected) {
            assert!(finding.what.contains(what), "{finding:?}");
            assert!(finding.way_out.contains(way_out), "{finding:?}");
        }
    }

    #[test]
    fn names_each_import_that_is_missing_and_the_way_out() {
        check("damper:plugin/files@1.0.0", &[], &[]);
        check("damper:plugin/files@1.7.0", &[], &[]);
        check("wasi:io/poll@0.2.12", &[], &[]);
        check(
            "damper:plugin/files@1.7.0",
            &["burn", "melt"],
            &[
                ("imports `burn` of", "newer than this host"),
                ("imports `melt` of", "newer"),
            ],
        );
        check(
            "damper:plugin/files@2.0.0",
            &[],
            &[("another major version", "serves 1.x")],
        );
        check(
            "damper:plugin/files@1.0.0-rc.1",
            &[],
            &[("`-rc.1` does not match any release", "SDK of this host")],
        );
        check(
            "damper:plugin/files",
            &[],
            &[("without a version", "SDK of this host")],
        );
        check(
            "damper:plugin/moon@1.0.0",
            &[],
            &[("does not offer", "`files`")],
        );
        check(
            "wasi:io/poll@0.2.0-rc-2023-11-10",
            &[],
            &[("does not match any release", "the release 0.2.0")],
        );
        check("wasi:io/poll@0.3.0", &[], &[("does not offer", "WASI 0.2")]);
        check(
            "wasi:sockets/tcp@0.2.0",
            &[],
            &[("does not offer", "no network")],
        );
        check(
            "acme:moon/phase@1.0.0",
            &[],
            &[("does not offer", "and WASI alone")],
        );
        check("env", &["f"], &[("imports `env`", "wasm32-wasip1")]);
    }

    #[test]
    fn types_that_nest_without_end_are_found_before_they_are_read() {
        let nested = |levels: usize| {
            let mut section = vec![1];
            section.extend([0x41, 1, 1].repeat(levels));
            section.extend([0x41, 0]);
            let mut component = b"\0asm\x0d\0\x01\0\x07".to_vec();
            let mut length = section.len();
            while length >= 0x80 {
                component.push((length & 0x7f) as u8 | 0x80);
                length >>= 7;
            }
            component.push(length as u8);
            component.extend(section);
            component
        };
        for (levels, expected) in [(85_000, "has no manifest"), (1_000_000, "KiB of types")] {
            let mut report = super::Report {
                file: "deep.wasm".into(),
                bytes: None,
                digest: None,
                host_api: String::new(),
                manifest: None,
                imports: Vec::new(),
                exports: Vec::new(),
                findings: Vec::new(),
            };
            let contract = Contract::built_in().expect("it reads");
            look_into(&nested(levels), &contract, &mut report);
            let told = format!("{:?}", report.findings);
            assert!(told.contains(expected), "{levels}: {told}");
        }
    }
}
