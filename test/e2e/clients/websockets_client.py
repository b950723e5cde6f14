"""Debian's python3-websockets, with JSON-RPC spelled out."""

import asyncio
import json
import sys

import websockets


class Client:
    def __init__(self, socket):
        self.socket = socket
        self.next_id = 0
        self.notifications = []

    async def receive(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), 60))

    async def call(self, method, **params):
        self.next_id += 1
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        await self.socket.send(json.dumps(request))
        while True:
            message = await self.receive()
            if "method" in message:
                self.notifications.append(message)
                continue
            assert message["id"] == self.next_id, message
            return message

    async def result(self, method, **params):
        reply = await self.call(method, **params)
        assert "error" not in reply, reply
        return reply["result"]

    async def event(self, kind):
        """Returns the first event of a kind, old or new."""
        looked = 0
        while True:
            for message in self.notifications[looked:]:
                if message["method"] == "v1.session.event" and message["params"]["type"] == kind:
                    return message["params"]
            looked = len(self.notifications)
            self.notifications.append(await self.receive())


async def converse(socket):
    assert socket.subprotocol == "sessiond.v1"
    client = Client(socket)
    tool = {"name": "look", "description": "looks", "input_schema": {"type": "object"}}
    made = await client.result("v1.session.create", title="é \U0001f600", tools=[tool])
    session = made["session"]["id"]
    assert made["session"]["title"] == "é \U0001f600"
    page = await client.result("v1.session.subscribe", session_id=session, after_seq=0)
    assert [e["type"] for e in page["entries"]] == ["session.created"]

    await client.result("v1.message.send", session_id=session, content='call look {"at":"the sea"}')
    called = await client.event("tool.called")
    call_id = called["data"]["tool_use_id"]
    await client.result("v1.tool.submit_result", session_id=session, tool_use_id=call_id, content="blue")
    done = await client.event("turn.completed")
    assert done["data"]["status"] == "completed", done

    events = [m["params"]["seq"] for m in client.notifications if m["method"] == "v1.session.event"]
    assert events == list(range(2, done["seq"] + 1)), events
    messages = (await client.result("v1.message.list", session_id=session))["messages"]
    answer = messages[-1]
    streamed = "".join(
        m["params"]["text"]
        for m in client.notifications
        if m["method"] == "v1.session.delta" and m["params"]["item_id"] == answer["id"] + "/0"
    )
    assert "blue" in streamed and streamed == answer["content"][0]["text"], streamed

    wrong = (await client.call("v1.session.update", session_id=session, title=7))["error"]
    assert wrong["code"] == -32602 and wrong["data"]["path"] == "title", wrong
    missing = (await client.call("v1.turn.get", session_id=session, turn_id=session))["error"]
    assert missing["code"] == -31020 and missing["data"] == {"kind": "not_found", "retryable": False, "what": "turn"}, missing

    await socket.send('[{"jsonrpc":"2.0","id":null,"method":"v1.server.info"},{"jsonrpc":"2.0","id":12345678901234567890123,"method":"no.such"}]')
    batch = await client.receive()
    assert [r["id"] for r in batch] == [None, 12345678901234567890123], batch


async def main():
    async with websockets.connect(sys.argv[1], subprotocols=["sessiond.v1"], max_size=None) as socket:
        await converse(socket)
    assert socket.close_code == 1000, socket.close_code
    print("ok")


asyncio.run(main())
