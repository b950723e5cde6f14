// The client's interface. What comes over the wire is described in protocol.d.ts.

import type {
  Activity, Delta, ErrorData, ErrorKind, Event, InternalErrorData, InvalidParamsData, Methods, Notifications,
  PendingToolCall, Session, SessionProgress, ToolInput,
} from './protocol.d.ts';

export type * from './protocol.d.ts';

/** What tools may return, and what messages are made of. */
export type Content = string | Array<{ type: 'text'; text: string } | { type: 'image'; mime_type: string; data: string }>;

/** The methods that can be called; subscriptions have their own functions. */
export type CallableMethod = Exclude<keyof Methods, 'v1.session.subscribe' | 'v1.session.unsubscribe'>;

/** Params may be left out where none are required. */
type CallArguments<M extends CallableMethod> = {} extends Methods[M]['params']
  ? [params?: Methods[M]['params'], options?: CallOptions]
  : [params: Methods[M]['params'], options?: CallOptions];

export interface CallOptions {
  /** Gives the call up: it rejects at once. What it has done stays done. */
  signal?: AbortSignal;
}

/** The part of WebSocket that is used. */
export interface WebSocketLike {
  send(frame: string): void;
  close(code?: number): void;
  addEventListener(type: 'open' | 'message' | 'error' | 'close', listener: (event: any) => void): void;
}

export interface ClientOptions {
  /** The server; default: the one that the page is from. What is no address throws. */
  url?: string;
  /**
   * Gets a ticket; asked before every connection. It may take its time: perhaps a person is
   * asked. If it rejects, it is asked again later, unless the error's member `retry` is
   * false: then the client is closed.
   */
  ticket?: () => string | undefined | Promise<string | undefined>;
  /** Makes a WebSocket; default: the browser's. In Node it can send a bearer token along. */
  socket?: (url: string, protocols: string[]) => WebSocketLike;
  /** How long connecting may take once there is a ticket. Default 15 s. */
  connectTimeoutMs?: number;
  /** The delays between tries to connect. Default 0.5 to 15 s. */
  backoff?: { minMs?: number; maxMs?: number };
  /** How long the server may be silent before it is asked something, and how long then. Default 30 and 10 s. */
  heartbeat?: { idleMs?: number; answerMs?: number };
  /** How many calls may wait for their answers; others wait to be sent. Default 32. */
  maxInFlight?: number;
  /** The largest message that the server reads. Default 8 MiB, as the server's. */
  maxFrameBytes?: number;
}

/**
 * idle: nothing was asked for yet. connecting. open. waiting: for the next try to connect.
 * closed: by close(), by the server for good, or by whoever gives tickets.
 */
export type ClientState = 'idle' | 'connecting' | 'open' | 'waiting' | 'closed';

export interface StateChange {
  state: ClientState;
  /** connecting and waiting: how many tries were made since the last steady connection. */
  attempt?: number;
  /** waiting: how long until the next try. */
  retryInMs?: number;
  /** waiting and closed: the code that the connection was closed with. */
  code?: number;
  /** waiting and closed: why. */
  error?: Error;
}

export interface ClientEvents {
  state: StateChange;
  /** Everything that the server sends on its own. */
  notification: { [N in keyof Notifications]: { method: N; params: Notifications[N] } }[keyof Notifications];
  /** What nobody else is told: a tool's result that could not be handed in. */
  error: unknown;
}

/** A client of one server. It connects when it is first used, and again and again. */
export class Client {
  constructor(options?: ClientOptions);

  readonly state: ClientState;

  /** Connects now. Resolves when there is a connection; rejects when there will be none. Opens a closed client again. */
  connect(): Promise<void>;

  /** Ends everything: calls without an answer reject, subscriptions end. */
  close(): void;

  /**
   * Calls a method. While there is no connection the call waits; if one ends before the
   * answer came, it is made again on the next. Whatever changes something is given a key if
   * it has none, so it happens once. Calls that the server has no room for are repeated.
   * Rejects with an RpcError if the server refuses, with a ConnectionError if the client is
   * closed.
   */
  call<M extends CallableMethod>(method: M, ...args: CallArguments<M>): Promise<Methods[M]['result']>;

  /** Follows a session. There is one subscription to a session at a time. */
  subscribe(sessionId: string, options?: SubscribeOptions): Subscription;

  /** The subscription to a session, if there is one. */
  subscription(sessionId: string): Subscription | undefined;

  /**
   * Registers a tool: its calls in all sessions that are subscribed to are claimed, run and
   * answered. A description in the schema is what the model is told. Returns a function
   * that takes the tool back. Calls that wait already are taken up, too.
   */
  tool<I = any>(name: string, schema: ToolSchema, run: ToolFunction<I>, options?: ToolOptions): () => void;

  /** The registered tools, to be given to v1.session.create or v1.session.update. */
  tools(): ToolInput[];

  on<E extends keyof ClientEvents>(event: E, listener: (value: ClientEvents[E]) => void): () => void;
  once<E extends keyof ClientEvents>(event: E, listener: (value: ClientEvents[E]) => void): () => void;
  off<E extends keyof ClientEvents>(event: E, listener: (value: ClientEvents[E]) => void): void;
}

export interface SubscribeOptions {
  /** The last entry that is known; 0 for none, so that the whole log comes. Absent: only what happens from now on. */
  afterSeq?: number;
  /** The log that it belongs to. */
  logId?: string;
  /** Whether to get answers while they are written. Default true. */
  deltas?: boolean;
  /** all, or progress for how full the context is and nothing of what is said. Default all. */
  events?: 'all' | 'progress';
  /** Whether registered tools run in this session. Default true. */
  tools?: boolean;
}

/** A block of an answer that is being written. Its text grows. */
export interface Item {
  readonly itemId: string;
  readonly messageId: string;
  /** The block's place in the message. */
  readonly block: number;
  readonly turnId: string;
  readonly kind: Delta['kind'];
  readonly text: string;
  /** False: pieces got lost; the stored message will have all. */
  readonly whole: boolean;
}

export interface ItemEnd {
  item: Item;
  /**
   * stored: its message is in the log now. turn_completed: it is not, and won't be.
   * replaced: the round is repeated, or something else is being written. ended: the
   * subscription is over.
   */
  reason: 'stored' | 'turn_completed' | 'replaced' | 'ended';
}

export interface SubscriptionEvents {
  /** A log entry; each comes once, in order. */
  entry: Event;
  /** It has caught up: all entries up to now were told. Comes again after every reconnection. */
  ready: { session: Session; headSeq: number; pendingToolCalls: PendingToolCall[] };
  /** live has changed. */
  live: boolean;
  /** The log is another one: forget all entries; they come again from the first. */
  reset: undefined;
  /** A block is written. added is what is new at its end; undefined: read item.text anew. */
  item: { item: Item; added: string | undefined };
  itemend: ItemEnd;
  /** How full the context is; also after every ready. */
  progress: SessionProgress;
  /** What the session is busy with. */
  activity: Activity;
  /** It is over: without an error by close(), or because the session was deleted. */
  end: { error: Error | undefined };
}

/** A session's log, followed over all connections. */
export class Subscription {
  private constructor();

  readonly sessionId: string;
  /** Resolves when it has first caught up; rejects if it ends before. */
  readonly ready: Promise<Session>;
  /** Whether it has caught up and hears everything new. */
  readonly live: boolean;
  readonly ended: boolean;
  /** The session when it last caught up. */
  readonly session: Session | undefined;
  /** The last entry that was told; with logId the place to go on from another time. */
  readonly lastSeq: number | undefined;
  readonly logId: string | undefined;
  /** The blocks that are being written, in their order. */
  readonly items: Item[];
  /** The calls that waited for a result when it last caught up. */
  readonly pendingToolCalls: PendingToolCall[];
  /** How full the context is. */
  readonly progress: SessionProgress | undefined;

  /** Ends it. */
  close(): void;

  on<E extends keyof SubscriptionEvents>(event: E, listener: (value: SubscriptionEvents[E]) => void): () => void;
  once<E extends keyof SubscriptionEvents>(event: E, listener: (value: SubscriptionEvents[E]) => void): () => void;
  off<E extends keyof SubscriptionEvents>(event: E, listener: (value: SubscriptionEvents[E]) => void): void;
}

/** The JSON Schema of a tool's input, with what the model is told in its description. */
export interface ToolSchema { type: 'object'; description?: string; [member: string]: unknown }

export interface ToolOptions {
  /** What the model is told; default: the schema's description. */
  description?: string;
  /** Whether old results may be cleared from the model's context. */
  cleanable?: boolean;
  /** The input member that names the file which the tool reads. */
  reads?: string;
  /** How long a call may wait for its result. */
  timeoutMs?: number;
}

export interface ToolContext {
  sessionId: string;
  turnId: string;
  toolUseId: string;
  name: string;
  /** When the server gives the call an error result. */
  deadline: Date;
  /** Aborted when the call is over: stopped, timed out, or resolved by another client. */
  signal: AbortSignal;
}

/**
 * Runs a tool. What it returns goes to the model: a text or blocks as they are, everything
 * else as JSON; what it throws goes there as an error.
 */
export type ToolFunction<I = any> = (input: I, context: ToolContext) => unknown;

/** An error that the server answered with. Switch on kind. */
export class RpcError extends Error {
  constructor(method: string, error: { code: number; message: string; data?: unknown });
  readonly method: string;
  readonly code: number;
  readonly kind: ErrorKind | undefined;
  readonly data: Partial<ErrorData & InvalidParamsData & InternalErrorData> | undefined;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** How long to wait before; 0 if the server does not say. */
  readonly retryAfterMs: number;
}

/** There is no connection and there will be none. */
export class ConnectionError extends Error {
  constructor(message: string, more?: { code?: number; cause?: unknown });
  /** The code that the connection was closed with. */
  readonly code: number | undefined;
}

/** A new idempotency key. */
export function newKey(): string;
