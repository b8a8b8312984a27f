// The official TypeScript MCP client (SDK v2), driven by one JSON object.
//
//   node client.mjs '{"era": "modern", "http": {"url": "...", "token": "..."},
//                     "calls": [{"name": "read", "arguments": {}}]}'
//
// README.md lists the keys. Prints one JSON object.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const task = JSON.parse(process.argv[2]);

function transport() {
    if (task.stdio) {
        const [command, ...args] = task.stdio;
        return new StdioClientTransport({ command, args, cwd: task.cwd, env: { ...process.env, ...task.env } });
    }
    const headers = task.http.token ? { Authorization: `Bearer ${task.http.token}` } : {};
    return new StreamableHTTPClientTransport(new URL(task.http.url), { requestInit: { headers } });
}

function newClient(changed) {
    const options = {};
    if (task.era === 'modern') options.versionNegotiation = { mode: 'auto' };
    if (task.protocol) options.supportedProtocolVersions = [task.protocol];
    if (task.watch) options.listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } };
    return new Client({ name: 'damper-test-typescript', version: '1' }, options);
}

async function call(client, { name, arguments: given = {} }, answer) {
    const cancelling = new AbortController();
    const options = { timeout: task.timeout_ms ?? 30_000, signal: cancelling.signal };
    if (task.progress || task.cancel) {
        options.resetTimeoutOnProgress = true;
        options.onprogress = (step) => {
            answer.progress.push(step);
            // The test answers the call's question, for instance, when it reads this line.
            console.error(`progress ${step.message ?? ''}`);
            if (task.cancel) cancelling.abort('the test cancels');
        };
    }
    answer.results.push(await client.callTool({ name, arguments: given }, options));
}

/// Fails once nobody can be waiting for this client any more.
function overtime() {
    const seconds = task.deadline_s ?? 120;
    return new Promise((_, reject) => {
        setTimeout(() => reject(new Error(`not done after ${seconds} s`)), seconds * 1000).unref();
    });
}

/// Stays connected until standard input ends: leaving takes calls back too.
async function released() {
    console.error('cancelled');
    for await (const _ of process.stdin);
}

async function run(answer) {
    let changed;
    const change = new Promise((resolve) => (changed = resolve));
    const client = newClient(changed);
    await client.connect(transport());
    try {
        answer.protocol = client.getNegotiatedProtocolVersion();
        answer.server = client.getServerVersion();
        answer.tools = (await client.listTools()).tools;
        if (task.watch) {
            // The test edits the profile when it reads this line.
            console.error('watching');
            await change;
            answer.changed_tools = (await client.listTools(undefined, { cacheMode: 'refresh' })).tools;
        }
        for (const one of task.calls ?? []) await call(client, one, answer);
    } catch (error) {
        if (task.cancel) await released();
        throw error;
    } finally {
        await client.close();
    }
}

const answer = { client: 'typescript', era: task.era, results: [], progress: [] };
try {
    await Promise.race([run(answer), overtime()]);
} catch (error) {
    answer.error = { name: error.name, code: error.code, message: String(error.message ?? error) };
}
console.log(JSON.stringify(answer));
process.exit(answer.error ? 1 : 0);
