//! Guests with more in them than their compiler made.

use std::fs;

use damper_wasm::{append_manifest, read_manifest};
use wasm_encoder::{
    ComponentSection as _, InstanceSection, MemorySection, MemoryType, Module, ModuleArg,
    ModuleSection,
};
use wasmparser::{Parser, Payload};

/// Returns a guest with further modules, each of which has an instance in it.
pub fn guest_with(name: &str, modules: &[Module]) -> Vec<u8> {
    let guest = fs::read(crate::guest(name)).unwrap();
    let manifest = serde_json::to_vec(&read_manifest(&guest).unwrap()).unwrap();
    let (mut component, own) = without_manifest(&guest);
    for (module, index) in modules.iter().zip(own..) {
        ModuleSection(module).append_to_component(&mut component);
        let mut instances = InstanceSection::new();
        let no_arguments: [(&str, ModuleArg); 0] = [];
        instances.instantiate(index, no_arguments);
        instances.append_to_component(&mut component);
    }
    append_manifest(&component, &manifest).unwrap()
}

/// Returns a module that has a memory of so many pages and nothing else.
pub fn memory(pages: u64) -> Module {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: pages,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut module = Module::new();
    module.section(&memories);
    module
}

/// Returns all of a component but its last section, which is the manifest, and the number of
/// modules in it.
fn without_manifest(component: &[u8]) -> (Vec<u8>, u32) {
    let (mut end, mut depth, mut modules) = (0, 0_u32, 0);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.unwrap();
        if let Some((_id, range)) = payload.as_section()
            && range.end < component.len()
        {
            end = end.max(range.end);
        }
        if let Payload::ModuleSection { .. } = payload {
            modules += u32::from(depth == 0);
            depth += 1;
        } else if let Payload::ComponentSection { .. } = payload {
            depth += 1;
        } else if let Payload::End(_) = payload {
            depth = depth.saturating_sub(1);
        }
    }
    (component[..end].to_vec(), modules)
}
