//! What this host offers to guests, taken from the text of the contract itself.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use include_dir::{Dir, include_dir};
use semver::Version;
use wit_parser::{
    InterfaceId, PackageId, Resolve, SourceMap, WorldId, WorldItem, WorldKey, decoding::DecodedWasm,
};

/// The text of the contract, as `plugin new` and `plugin bindings` hand it out.
pub(crate) static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../wit");

/// The contract's package.
pub(crate) const PACKAGE: &str = "damper:plugin";

/// Interfaces by their names in the package, with the names of their functions.
pub(crate) type Interfaces = BTreeMap<String, BTreeSet<String>>;

/// What `wit/` offers to guests and asks of them.
#[derive(Debug)]
pub(crate) struct Contract {
    /// Its version.
    pub(crate) version: Version,
    /// What a guest may import.
    pub(crate) imports: Interfaces,
    /// What a guest may export.
    pub(crate) exports: Interfaces,
}

impl Contract {
    /// Reads the contract that was built in.
    pub(crate) fn built_in() -> anyhow::Result<Self> {
        let (resolve, package) = parse()?;
        let version = resolve.packages[package].name.version.clone();
        let (imports, _none) = surface(&resolve, world(&resolve, package, "imports")?);
        let (_imports, exports) = surface(&resolve, world(&resolve, package, "plugin")?);
        Ok(Self {
            version: version.context("the contract that is built in has no version")?,
            imports: named_in_package(imports),
            exports: named_in_package(exports),
        })
    }

    /// Returns the versions that it serves, for people.
    pub(crate) fn range(&self) -> String {
        format!("{}.x (it has {})", self.version.major, self.version)
    }
}

/// Returns the contract that was built in, as tools for WIT take it.
pub(crate) fn parse() -> anyhow::Result<(Resolve, PackageId)> {
    let mut sources = SourceMap::new();
    for file in WIT.files() {
        let text = file.contents_utf8().context("is not UTF-8")?;
        sources.push_str(&file.path().display().to_string(), text);
    }
    let group = sources
        .parse()
        .map_err(|(_sources, error)| anyhow::anyhow!("{error}"))
        .context("the contract that is built in does not parse")?;
    let mut resolve = Resolve::default();
    let package = resolve
        .push_group(group)
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context("the contract that is built in does not resolve")?;
    Ok((resolve, package))
}

fn world(resolve: &Resolve, package: PackageId, name: &str) -> anyhow::Result<WorldId> {
    let worlds = &resolve.packages[package].worlds;
    let world = worlds.get(name).copied();
    world.with_context(|| format!("the contract that is built in has no world `{name}`"))
}

fn named_in_package(interfaces: Vec<Interface>) -> Interfaces {
    interfaces
        .into_iter()
        .map(|interface| (interface.name, interface.functions))
        .collect()
}

/// An interface that a component imports or exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    /// `namespace:package`, and nothing for what stands alone.
    pub(crate) package: Option<String>,
    /// Its name in the package.
    pub(crate) name: String,
    /// The version of its package.
    pub(crate) version: Option<Version>,
    /// The names of its functions, as people write them.
    pub(crate) functions: BTreeSet<String>,
}

impl Interface {
    /// Returns `namespace:package/name@version`.
    pub(crate) fn id(&self) -> String {
        let mut id = self.name.clone();
        if let Some(package) = &self.package {
            id = format!("{package}/{id}");
        }
        if let Some(version) = &self.version {
            id = format!("{id}@{version}");
        }
        id
    }

    /// Returns whether it is of the contract, in whatever version.
    pub(crate) fn is_ours(&self) -> bool {
        self.package.as_deref() == Some(PACKAGE)
    }
}

/// Returns what a component imports and exports, without running or compiling it.
///
/// # Errors
///
/// Says why it does not read as a component.
pub(crate) fn read_component(component: &[u8]) -> anyhow::Result<(Vec<Interface>, Vec<Interface>)> {
    match wit_parser::decoding::decode(component)? {
        DecodedWasm::Component(resolve, world) => Ok(surface(&resolve, world)),
        DecodedWasm::WitPackage(_resolve, _package) => {
            anyhow::bail!("it holds the text of an interface, and no code")
        }
    }
}

fn surface(resolve: &Resolve, world: WorldId) -> (Vec<Interface>, Vec<Interface>) {
    let world = &resolve.worlds[world];
    let listed = |items: &wit_parser::IndexMap<WorldKey, WorldItem>| {
        items
            .iter()
            .filter_map(|(key, item)| interface(resolve, key, item))
            .collect()
    };
    (listed(&world.imports), listed(&world.exports))
}

/// Types alone ask for nothing.
fn interface(resolve: &Resolve, key: &WorldKey, item: &WorldItem) -> Option<Interface> {
    let alone = |name: &str, functions| Interface {
        package: None,
        name: name.to_owned(),
        version: None,
        functions,
    };
    match (item, key) {
        (WorldItem::Type { .. }, _) => None,
        (WorldItem::Function(function), _) => Some(alone(&function.name, BTreeSet::new())),
        (WorldItem::Interface { id, .. }, WorldKey::Name(name)) => {
            Some(alone(name, functions(resolve, *id)))
        }
        (WorldItem::Interface { id, .. }, WorldKey::Interface(_)) => {
            let interface = &resolve.interfaces[*id];
            let package = interface.package.map(|id| &resolve.packages[id].name);
            Some(Interface {
                package: package.map(|name| format!("{}:{}", name.namespace, name.name)),
                name: interface.name.clone().unwrap_or_default(),
                version: package.and_then(|name| name.version.clone()),
                functions: functions(resolve, *id),
            })
        }
    }
}

fn functions(resolve: &Resolve, interface: InterfaceId) -> BTreeSet<String> {
    let functions = resolve.interfaces[interface].functions.keys();
    functions.map(|name| readable(name)).collect()
}

/// `[method]call.tool` becomes `call.tool`.
fn readable(function: &str) -> String {
    let plain = function.split_once(']').map(|(_kind, plain)| plain);
    plain.unwrap_or(function).to_owned()
}

#[cfg(test)]
mod tests {
    use super::Contract;

    #[test]
    fn reads_the_contract_that_is_built_in() {
        let contract = Contract::built_in().unwrap();
        assert_eq!(contract.version.to_string(), damper_wasm::API_VERSION);
        assert!(contract.imports["types"].contains("call.tool"));
        assert!(contract.imports["files"].contains("stat"));
        assert!(contract.exports["guard"].contains("check"));
        assert!(contract.exports["tool"].contains("run"));
    }

    #[test]
    fn what_the_contract_offers_is_what_the_linker_serves() {
        let contract = Contract::built_in().unwrap();
        for name in contract.imports.keys() {
            let import = format!("damper:plugin/{name}@{}", contract.version);
            assert!(damper_wasm::is_offered(&import), "{import}");
        }
    }
}
