"""The official Python MCP client, driven by one JSON object.

    python client.py '{"era": "modern", "stdio": ["damper", "mcp"],
                       "calls": [{"name": "read", "arguments": {}}]}'

README.md lists the keys. Prints one JSON object.
"""

import json
import os
import sys
from contextlib import AsyncExitStack

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import Implementation, ToolListChangedNotification

task = json.loads(sys.argv[1])


async def server(stack):
    if "stdio" in task:
        command, *args = task["stdio"]
        env = {**os.environ, **task.get("env", {})}
        return StdioServerParameters(command=command, args=args, env=env, cwd=task.get("cwd"))
    token = task["http"].get("token")
    headers = {"Authorization": f"Bearer {token}"} if token else None
    http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
    return streamable_http_client(task["http"]["url"], http_client=http)


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def listed(client):
    return [plain(tool) for tool in (await client.list_tools(cache_mode="bypass")).tools]


async def watch(client, changed, answer):
    if task["era"] == "modern":
        async with client.listen(tools_list_changed=True) as subscription:
            # The test edits the profile when it reads this line.
            print("watching", file=sys.stderr, flush=True)
            async for _event in subscription:
                break
    else:
        print("watching", file=sys.stderr, flush=True)
        await changed.wait()
    answer["changed_tools"] = await listed(client)


async def call(client, tool, answer):
    async with anyio.create_task_group() as calling:

        async def progressed(progress, total, message):
            answer["progress"].append({"progress": progress, "total": total, "message": message})
            # The test answers the call's question, for instance, when it reads this line.
            print("progress", message or "", file=sys.stderr, flush=True)
            if task.get("cancel"):
                calling.cancel_scope.cancel()

        wants_progress = task.get("progress") or task.get("cancel")
        result = await client.call_tool(
            tool["name"],
            tool.get("arguments", {}),
            read_timeout_seconds=task.get("timeout_ms", 30_000) / 1000,
            progress_callback=progressed if wants_progress else None,
        )
        answer["results"].append(plain(result))
    if calling.cancel_scope.cancelled_caught:
        # Stays connected until standard input ends: leaving takes calls back too.
        print("cancelled", file=sys.stderr, flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)
        raise RuntimeError("the test cancels")


async def run(answer):
    seconds = task.get("deadline_s", 120)
    try:
        with anyio.fail_after(seconds):
            await converse(answer)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"not done after {seconds} s") from error


async def converse(answer):
    changed = anyio.Event()

    async def noticed(message):
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            Client(
                await server(stack),
                mode="auto" if task["era"] == "modern" else "legacy",
                client_info=Implementation(name="damper-test-python", version="1"),
                message_handler=noticed,
            )
        )
        answer["protocol"] = client.protocol_version
        answer["server"] = plain(client.server_info) if client.server_info else None
        answer["tools"] = await listed(client)
        if task.get("watch"):
            await watch(client, changed, answer)
        for tool in task.get("calls", []):
            await call(client, tool, answer)


def leaf(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


answer = {"client": "python", "era": task["era"], "results": [], "progress": []}
try:
    anyio.run(run, answer)
except Exception as error:  # Whatever went wrong is the answer.
    error = leaf(error)
    answer["error"] = {"name": type(error).__name__, "message": str(error)}
print(json.dumps(answer))
sys.exit(1 if "error" in answer else 0)
