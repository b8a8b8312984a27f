//! Loading a component as large as one with a JavaScript engine inside, its code compiled before.

use std::fs;

use damper_tests::modules::guest_with;
use wasm_encoder::{
    BlockType, CodeSection, ExportKind, ExportSection, Function, FunctionSection, MemArg,
    MemorySection, MemoryType, Module, TypeSection, ValType,
};

use crate::{
    Scale,
    inside::Inside,
    report::{Line, Unit},
    sample::Samples,
};

/// As large as what componentize-js makes.
const SIZE: usize = 12 << 20;

/// Steps of one function, which make it some 2 KiB long, as compilers' larger ones are.
const STEPS: u32 = 100;

/// From the file's bytes to a linked plugin: what an edit or a start waits for.
pub(crate) async fn load(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let inside = Inside::start().await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.wasm");
    fs::write(&path, guest_with("allow-guard", &[large()]))?;
    let mut compiles = 0;
    // What nobody holds is forgotten: each turn loads anew.
    drop(
        inside
            .runtime
            .load(&fs::read(&path)?, || compiles += 1)
            .await?,
    );
    let (mut loading, mut reading) = (Samples::default(), Samples::default());
    for _ in 0..scale.of(100, 3) {
        let plugin = loading
            .time_async(async {
                let bytes = fs::read(&path)?;
                Ok::<_, anyhow::Error>(inside.runtime.load(&bytes, || compiles += 1).await?)
            })
            .await?;
        drop(plugin);
        reading.time(|| fs::read(&path))?;
    }
    anyhow::ensure!(compiles == 1, "it was compiled {compiles} times");
    let line = Line::of(
        "load",
        "a 12 MB component from the code cache: read, check, deserialise, link",
        Unit::Micros,
        &loading,
    );
    Ok(vec![line.beside("reading the component's file", &reading)])
}

/// Returns a module of [`SIZE`]: functions that call each other, loop and use memory.
fn large() -> Module {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], [ValType::I32]);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: Some(1),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
    while code.byte_len() < SIZE {
        code.function(&function(functions.len()));
        functions.function(0);
    }
    let mut exports = ExportSection::new();
    exports.export("run", ExportKind::Func, functions.len() - 1);
    let mut module = Module::new();
    module
        .section(&types)
        .section(&functions)
        .section(&memories)
        .section(&exports)
        .section(&code);
    module
}

/// Returns a function that hashes some memory with constants of its own, then calls the one
/// before it.
fn function(number: u32) -> Function {
    let mut function = Function::new([(1, ValType::I32)]);
    let mut body = function.instructions();
    body.loop_(BlockType::Empty);
    for step in 0..STEPS {
        // Constants that differ, so that no two functions are the same code.
        let constant = (number * STEPS + step)
            .wrapping_mul(0x9e37_79b1)
            .cast_signed();
        let place = MemArg {
            offset: u64::from(step * 4),
            align: 2,
            memory_index: 0,
        };
        body.i32_const(0)
            .local_get(0)
            .i32_const(constant)
            .i32_xor()
            .local_get(1)
            .i32_add()
            .local_tee(0)
            .i32_store(place);
        body.i32_const(0).i32_load(place).local_set(1);
    }
    body.local_get(0).i32_const(1).i32_and().br_if(0).end();
    body.local_get(0);
    if let Some(before) = number.checked_sub(1) {
        body.call(before);
    }
    body.end();
    function
}
