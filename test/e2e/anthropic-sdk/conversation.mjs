// Holds conversations with the fake of the Messages API through Anthropic's own client
// and prints what it saw as JSON. Argument: the base URL.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.argv[2], apiKey: "key", maxRetries: 0 });
const model = "claude-opus-5-5";
const settings = {
  model,
  max_tokens: 4000,
  system: [{ type: "text", text: "Be kind. ".repeat(1000), cache_control: { type: "ephemeral", ttl: "1h" } }],
  tools: [{ name: "weather", description: "tells the weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }],
  thinking: { type: "adaptive" },
};
const seen = {};

// A streamed tool loop: thinking, two calls at once, their results, the answer. What the
// client assembled goes back as it is, so its signatures have to hold.
{
  const messages = [{ role: "user", content: "How is the weather in Rome and Oslo?" }];
  const first = client.messages.stream({ ...settings, messages });
  let text = "";
  first.on("text", (piece) => (text += piece));
  const answer = await first.finalMessage();
  seen.text = text;
  seen.kinds = answer.content.map((b) => b.type);
  seen.calls = answer.content.filter((b) => b.type === "tool_use").map((b) => [b.id, b.name, b.input.city]);
  seen.stop = answer.stop_reason;
  seen.written = answer.usage.cache_creation.ephemeral_1h_input_tokens > 1000;
  messages.push({ role: "assistant", content: answer.content });
  messages.push({
    role: "user",
    content: answer.content.filter((b) => b.type === "tool_use").map((b) => ({ type: "tool_result", tool_use_id: b.id, content: "sunny" })),
  });
  const second = await client.messages.stream({ ...settings, messages }).finalMessage();
  seen.second = second.content[0].text;
  seen.read = second.usage.cache_read_input_tokens > 1000;
}

// The raw events, for clients that assemble them on their own.
{
  const events = [];
  let input = "";
  const stream = await client.messages.create({ ...settings, stream: true, messages: [{ role: "user", content: "And in Bergen?" }] });
  for await (const e of stream) {
    events.push(e.type);
    if (e.delta?.type === "input_json_delta") {
      input += e.delta.partial_json;
    }
  }
  seen.raw = [events[0], events.at(-2), events.at(-1), input];
}

// An answer that is not streamed, tokens, and models.
const hi = [{ role: "user", content: "hi" }];
seen.whole = (await client.messages.create({ model, max_tokens: 10, messages: hi })).content[0].text;
seen.tokens = (await client.messages.countTokens({ model, messages: hi })).input_tokens;
const listed = [];
for await (const m of client.models.list()) {
  listed.push(m.id);
}
seen.models = listed.includes(model);
seen.adaptive = (await client.models.retrieve(model)).capabilities.thinking.types.adaptive.supported;

// Errors arrive as the client's own classes.
async function failure(messages) {
  try {
    await client.messages.stream({ model, max_tokens: 10, messages }).finalMessage();
  } catch (e) {
    return [e.constructor.name, e.status ?? null, e.error?.error?.type ?? null];
  }
  return null;
}
seen.failures = [
  await failure(hi), // rate limit
  await failure(hi), // overloaded
  await failure(hi), // overloaded in the middle of the stream
  await failure([{ role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: "orphan" }] }]),
  await failure([{ role: "user", content: "overflow".repeat(2_500_000) }]),
];

console.log(JSON.stringify(seen));
