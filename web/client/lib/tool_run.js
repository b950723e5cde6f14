// One tool call that this client runs.

import { RpcError } from './errors.js';
import { toContent } from './tool_content.js';

/**
 * @typedef {import('../protocol.d.ts').PendingToolCall} PendingToolCall
 * @typedef {import('../client.d.ts').ToolFunction} ToolFunction
 * @typedef {import('../client.d.ts').Client['call']} CallMethod
 */

/** How long a claim lives unless it is extended; so long others wait for a client that died. */
const LEASE_MS = 20_000;
/** When it is extended. Each time is an entry of the log. */
const EXTEND_MS = 12_000;
/** How long to wait before another client's claim is tried again, whatever the clocks say. */
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 60_000;

/** Errors that say: this call is another client's, or nobody's any more. */
const GIVEN_UP = new Set(['tool_call_resolved', 'tool_call_not_found', 'tool_call_claimed', 'session_closed', 'not_found', 'forbidden']);

/** @param {unknown} error */
function saysGivenUp(error) { return error instanceof RpcError && GIVEN_UP.has(error.kind ?? ''); }

/** Claims a call, runs the tool, and hands in its result. */
export class ToolRun {
  #pending;
  #run;
  #callMethod;
  #abort = new AbortController();
  /** @type {string | undefined} */
  #claimToken;
  #extending = false;

  /**
   * @param {string} sessionId
   * @param {PendingToolCall} pending
   * @param {ToolFunction} run
   * @param {CallMethod} callMethod
   */
  constructor(sessionId, pending, run, callMethod) {
    this.sessionId = sessionId;
    this.toolUseId = pending.tool_use_id;
    this.#pending = pending;
    this.#run = run;
    this.#callMethod = callMethod;
  }

  /** The call is over, whoever ended it. */
  abort() { this.#abort.abort(new Error('the tool call is over')); }

  /**
   * Ends when there is nothing more to do. Rejects with what the model can't be told.
   * @returns {Promise<void>}
   */
  async done() {
    try {
      await this.#take();
      const timer = setInterval(() => this.#extend(), EXTEND_MS);
      try {
        // A tool may not care that it was aborted; nobody waits for it then.
        await this.#submit(await Promise.race([this.#result(), this.#aborted()]));
      } finally {
        clearInterval(timer);
      }
    } catch (error) {
      if (!this.#abort.signal.aborted && !saysGivenUp(error)) throw error;
    }
  }

  /** Claims the call, waiting while another client has it. */
  async #take() {
    while (this.#claimToken === undefined) {
      try {
        await this.#claim();
      } catch (error) {
        if (!(error instanceof RpcError) || error.kind !== 'tool_call_claimed') throw error;
        await this.#wait(Date.parse(error.data.lease_until) - Date.now());
      }
    }
  }

  /** Claims the call, or keeps the claim. */
  async #claim() {
    const answer = await this.#callMethod('v1.tool.claim', {
      session_id: this.sessionId, tool_use_id: this.toolUseId, lease_ms: LEASE_MS,
      ...(this.#claimToken && { claim_token: this.#claimToken }),
    }, { signal: this.#abort.signal });
    this.#claimToken = answer.claim_token;
  }

  /** Keeps the claim while the tool runs; without it the run is for nothing. */
  async #extend() {
    if (this.#extending) return;
    this.#extending = true;
    try {
      await this.#claim();
    } catch (error) {
      if (saysGivenUp(error)) this.abort();
    } finally {
      this.#extending = false;
    }
  }

  /** @param {number} ms NaN if the server did not say */
  async #wait(ms) {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const waited = new Promise((resolve) => {
      timer = setTimeout(resolve, Math.max(MIN_WAIT_MS, Math.min(ms || 0, MAX_WAIT_MS)));
    });
    await Promise.race([waited, this.#aborted()]).finally(() => clearTimeout(timer));
  }

  /**
   * Rejects when the call is over.
   * @returns {Promise<never>}
   */
  #aborted() {
    const { signal } = this.#abort;
    return new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  /** What the tool returns, or says when it fails: either is for the model. */
  async #result() {
    const { name, input, turn_id: turnId, deadline } = this.#pending;
    const { signal } = this.#abort;
    const { sessionId, toolUseId } = this;
    try {
      const value = await this.#run(input ?? {}, { sessionId, turnId, toolUseId, name, deadline: new Date(deadline), signal });
      return { content: toContent(value) };
    } catch (error) {
      return { content: (error instanceof Error ? error.message : String(error)) || 'the tool failed', is_error: true };
    }
  }

  /** @param {{ content: import('../client.d.ts').Content, is_error?: boolean }} result */
  async #submit(result) {
    const submit = (/** @type {typeof result} */ given) => this.#callMethod('v1.tool.submit_result', {
      session_id: this.sessionId, tool_use_id: this.toolUseId, claim_token: this.#claimToken, ...given,
    });
    for (let given = result; ;) {
      try {
        await submit(given);
        return;
      } catch (error) {
        if (!(error instanceof RpcError) || saysGivenUp(error)) throw error;
        // Until the server has time for it, or the call is over.
        if (error.retryable) await this.#wait(error.retryAfterMs);
        // The server does not take this result, and the model waits for one.
        else if (given === result) given = { content: `The tool ran, but its result can't be used: ${error.data?.reason ?? error.message}`, is_error: true };
        else throw error;
      }
    }
  }
}
