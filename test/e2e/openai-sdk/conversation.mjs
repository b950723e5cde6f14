// Holds conversations with the fake of Chat Completions through OpenAI's own client and
// prints what it saw as JSON. Argument: the base URL.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "key", maxRetries: 0 });
const model = "gpt-4o";
const weather = {
  name: "weather",
  description: "tells the weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const seen = {};

// A streamed tool round, chunk by chunk and by the client's accumulator.
{
  const messages = [{ role: "user", content: "How is the weather in Rome and Oslo?" }];
  const tools = [{ type: "function", function: weather }];
  const options = { model, messages, tools, stream_options: { include_usage: true } };
  const first = client.chat.completions.stream(options);
  let text = "";
  for await (const chunk of first) {
    text += chunk.choices[0]?.delta?.content ?? "";
  }
  const answer = await first.finalChatCompletion();
  const called = answer.choices[0].message;
  seen.text = text;
  seen.calls = called.tool_calls.map((c) => [c.id, c.function.name, JSON.parse(c.function.arguments).city]);
  seen.finish = answer.choices[0].finish_reason;
  seen.usage = answer.usage.total_tokens === answer.usage.prompt_tokens + answer.usage.completion_tokens;
  messages.push({ role: "assistant", content: called.content, tool_calls: called.tool_calls });
  for (const c of called.tool_calls) {
    messages.push({ role: "tool", tool_call_id: c.id, content: "sunny" });
  }
  seen.second = await client.chat.completions.stream(options).finalContent();
}

// The client's own tool loop.
{
  const cities = [];
  const tool = { ...weather, parse: JSON.parse, function: ({ city }) => (cities.push(city), "wet") };
  const runner = client.chat.completions.runTools({
    model, stream: true, tools: [{ type: "function", function: tool }],
    messages: [{ role: "user", content: "And in Bergen?" }],
  });
  seen.loop = [await runner.finalContent(), ...cities];
}

// An answer that is not streamed, and the list of models.
seen.whole = (await client.chat.completions.create({ model, messages: [{ role: "user", content: "hi" }] })).choices[0].message.content;
seen.models = (await client.models.list()).data.some((m) => m.id === model);
seen.retrieved = (await client.models.retrieve(model)).id;

// Errors arrive as the client's own classes.
async function failure(options) {
  try {
    for await (const _ of await client.chat.completions.create({ model, stream: true, ...options })) {
      // read to the end
    }
  } catch (e) {
    return [e.constructor.name, e.status ?? null, e.code ?? null];
  }
  return null;
}
seen.failures = [
  await failure({ messages: [{ role: "user", content: "rate limit" }] }),
  await failure({ messages: [{ role: "user", content: "break" }] }),
  await failure({ messages: [{ role: "user", content: "overflow".repeat(100_000) }] }),
  await failure({ messages: [{ role: "tool", tool_call_id: "x", content: "orphan" }] }),
];

console.log(JSON.stringify(seen));
