// Runs @modelcontextprotocol/conformance against a running server of ours.
//
//   node conformance.mjs '{"url": "http://127.0.0.1:7707/mcp", "token": "...",
//                          "spec": "2026-07-28", "out": "DIR"}'
//
// The suite cannot send a bearer token, so it talks to a proxy in this process that
// adds one and changes nothing else. Prints one JSON object; the suite's own report
// goes to standard error. Exits 1 when a scenario failed that is not in the baseline,
// or passed although it is.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const task = JSON.parse(process.argv[2]);
const here = dirname(fileURLToPath(import.meta.url));
const upstream = new URL(task.url);

/// How long the suite may take; it is done within half a minute.
const SUITE_MS = 300_000;

/// Passes one request on, with the token.
function forward(from, to) {
    const headers = { ...from.headers, authorization: `Bearer ${task.token}` };
    // A request for the proxy is one for the server. A strange host or origin, which a
    // scenario sends on purpose, reaches the server as it is.
    const own = `127.0.0.1:${from.socket.localPort}`;
    if (headers.host === own) headers.host = upstream.host;
    if (headers.origin === `http://${own}`) headers.origin = upstream.origin;
    const onward = send(
        { hostname: upstream.hostname, port: upstream.port, path: from.url, method: from.method, headers },
        (answer) => {
            to.writeHead(answer.statusCode, answer.headers);
            to.flushHeaders();
            answer.pipe(to);
            answer.on('error', () => to.destroy());
        },
    );
    onward.on('error', () => to.destroy());
    // A client that hangs up cancels its request; the server must see that.
    to.on('close', () => onward.destroy());
    from.pipe(onward);
}

function suite(url) {
    const entry = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
    const args = [entry, 'server', '--url', url, '--spec-version', task.spec];
    if (task.scenario) args.push('--scenario', task.scenario);
    else args.push('--suite', 'all', '--expected-failures', join(here, 'conformance', `${task.spec}.yaml`));
    if (task.out) args.push('--output-dir', task.out);
    if (task.verbose) args.push('--verbose');
    return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: SUITE_MS });
}

/// Reads the suite's summary: one line a scenario, `✓ name: 3 passed, 0 failed`.
function summary(report) {
    const scenarios = { passed: [], failed: [] };
    for (const line of report.split('\n')) {
        const found = /^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/u.exec(line.trim());
        if (found) (found[3] === '0' ? scenarios.passed : scenarios.failed).push(found[1]);
    }
    return scenarios;
}

const proxy = createServer(forward).listen(0, '127.0.0.1');
await once(proxy, 'listening');
const child = suite(`http://127.0.0.1:${proxy.address().port}${upstream.pathname}`);
let report = '';
child.stdout.setEncoding('utf8').on('data', (text) => {
    report += text;
    process.stderr.write(text);
});
const [code] = await once(child, 'exit');
proxy.close();
proxy.closeAllConnections();
console.log(JSON.stringify({ spec: task.spec, exit_code: code, ...summary(report) }));
process.exit(code === 0 ? 0 : 1);
