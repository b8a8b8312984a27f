// The official TypeScript MCP client (SDK v2), driven by one JSON object.
//
//   node client.mjs '{"era": "modern", "http": {"url": "...", "token": "..."},
//                     "call": {"name": "read", "arguments": {}}}'
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

async function call(client, answer) {
    const cancelling = new AbortController();
    const options = { timeout: task.timeout_ms ?? 30_000, signal: cancelling.signal };
    if (task.progress || task.cancel) {
        answer.progress = [];
        options.resetTimeoutOnProgress = true;
        options.onprogress = (step) => {
            answer.progress.push(step);
            if (task.cancel) cancelling.abort('the test cancels');
        };
    }
    const params = { name: task.call.name, arguments: task.call.arguments ?? {} };
    answer.result = await client.callTool(params, options);
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
        if (task.call) await call(client, answer);
    } finally {
        await client.close();
    }
}

const answer = { client: 'typescript', era: task.era };
try {
    await run(answer);
} catch (error) {
    answer.error = { name: error.name, code: error.code, message: String(error.message ?? error) };
}
console.log(JSON.stringify(answer));
process.exit(answer.error ? 1 : 0);
