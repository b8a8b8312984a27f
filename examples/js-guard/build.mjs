// Makes build/guard.wasm: the guard and the JavaScript engine that runs it.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { componentize } from "@bytecodealliance/componentize-js";

const { component } = await componentize(await readFile("guard.js", "utf8"), {
  witPath: "wit",
  worldName: "js-guard",
  // A guard computes. Without these the component imports nothing of WASI.
  disableFeatures: ["stdio", "random", "clocks", "http", "fetch-event"],
});
await mkdir("build", { recursive: true });
await writeFile("build/guard.wasm", component);
