// The tools that this client runs for the model.

import { ToolRun } from './tool_run.js';

/**
 * @typedef {import('../protocol.d.ts').ToolInput} ToolInput
 * @typedef {import('../protocol.d.ts').PendingToolCall} PendingToolCall
 * @typedef {import('../client.d.ts').ToolFunction} ToolFunction
 * @typedef {import('../client.d.ts').ToolSchema} ToolSchema
 * @typedef {import('../client.d.ts').ToolOptions} ToolOptions
 * @typedef {import('./subscription.js').Subscription} Subscription
 */

/** Runs the calls of registered tools in all sessions that the client is subscribed to. */
export class Tools {
  /** @type {Map<string, { described: ToolInput, run: ToolFunction }>} */
  #tools = new Map();
  /** @type {Map<string, Map<string, PendingToolCall>>} what waits for a result, by session and call */
  #pending = new Map();
  /** @type {Map<string, ToolRun>} by session and call */
  #runs = new Map();
  #callMethod;
  #failed;

  /**
   * @param {import('../client.d.ts').Client['call']} callMethod
   * @param {(error: unknown) => void} failed is told what went wrong with a call
   */
  constructor(callMethod, failed) {
    this.#callMethod = callMethod;
    this.#failed = failed;
  }

  /**
   * @param {string} name
   * @param {ToolSchema} schema
   * @param {ToolFunction} run
   * @param {ToolOptions} options
   */
  add(name, schema, run, { description, cleanable, reads, timeoutMs }) {
    if (this.#tools.has(name)) throw new TypeError(`there is a tool named ${name} already`);
    const { description: fallback = '', ...input } = schema;
    const described = {
      name, description: description ?? fallback, input_schema: input,
      ...(cleanable !== undefined && { cleanable }), ...(reads && { reads }), ...(timeoutMs && { timeout_ms: timeoutMs }),
    };
    const tool = { described, run };
    this.#tools.set(name, tool);
    for (const [sessionId, calls] of this.#pending) for (const call of calls.values()) if (call.name === name) this.#start(sessionId, call);
    return () => { if (this.#tools.get(name) === tool) this.#tools.delete(name); };
  }

  /** All of them as v1.session.create and v1.session.update take them. */
  list() { return [...this.#tools.values()].map((tool) => tool.described); }

  /**
   * Looks after a subscription.
   * @param {Subscription} subscription
   */
  watch(subscription) {
    const { sessionId } = subscription;
    subscription.on('ready', ({ pendingToolCalls }) => this.#takeStock(sessionId, pendingToolCalls));
    subscription.on('entry', ({ type, turn_id: turnId, data }) => {
      if (type === 'tool.resolved') this.#resolved(sessionId, data.tool_use_id);
      // While it catches up, the calls of the past pass by; what is pending comes last.
      if (type === 'tool.called' && subscription.live) this.#called(sessionId, { ...data, turn_id: turnId, status: 'pending' });
    });
    subscription.on('end', () => this.#takeStock(sessionId, []));
  }

  /**
   * @param {string} sessionId
   * @param {PendingToolCall[]} pending
   */
  #takeStock(sessionId, pending) {
    const ids = new Set(pending.map((call) => call.tool_use_id));
    for (const run of this.#runs.values()) if (run.sessionId === sessionId && !ids.has(run.toolUseId)) run.abort();
    this.#pending.delete(sessionId);
    for (const call of pending) this.#called(sessionId, call);
  }

  /**
   * Keeps a call, for a tool that is registered later, too.
   * @param {string} sessionId
   * @param {PendingToolCall} call
   */
  #called(sessionId, call) {
    const calls = this.#pending.get(sessionId) ?? new Map();
    this.#pending.set(sessionId, calls.set(call.tool_use_id, call));
    this.#start(sessionId, call);
  }

  /**
   * @param {string} sessionId
   * @param {string} toolUseId
   */
  #resolved(sessionId, toolUseId) {
    this.#pending.get(sessionId)?.delete(toolUseId);
    this.#runs.get(keyOf(sessionId, toolUseId))?.abort();
  }

  /**
   * @param {string} sessionId
   * @param {PendingToolCall} call
   */
  #start(sessionId, call) {
    const tool = this.#tools.get(call.name);
    const key = keyOf(sessionId, call.tool_use_id);
    if (!tool || this.#runs.has(key)) return;
    const run = new ToolRun(sessionId, call, tool.run, this.#callMethod);
    this.#runs.set(key, run);
    run.done().catch(this.#failed).finally(() => this.#runs.delete(key));
  }
}

/**
 * @param {string} sessionId
 * @param {string} toolUseId
 */
function keyOf(sessionId, toolUseId) { return `${sessionId} ${toolUseId}`; }
