// Code generated from the server's method registry (go generate ./web); DO NOT EDIT.

/** Any JSON object. */
export interface JSONObject { [member: string]: unknown }

/** The methods: params and result by name. */
export interface Methods {
  /** Tells what the server is, which limits it has and which models it offers. */
  'v1.server.info': { params: ServerInfoParams; result: ServerInfoResult };
  /** Creates a session. */
  'v1.session.create': { params: SessionCreateParams; result: SessionResult };
  /** Returns a session. */
  'v1.session.get': { params: SessionGetParams; result: SessionGetResult };
  /** Lists the owner's sessions, newest activity first. */
  'v1.session.list': { params: SessionListParams; result: SessionListResult };
  /** Changes a session; a running turn goes on with what it began with. */
  'v1.session.update': { params: SessionUpdateParams; result: SessionResult };
  /** Closes a session: it refuses writes and may be read and forked. */
  'v1.session.close': { params: SessionCloseParams; result: SessionResult };
  /** Opens a closed session again. */
  'v1.session.open': { params: SessionOpenParams; result: SessionResult };
  /** Deletes a session and stops what runs in it; deleting it again is no error. */
  'v1.session.delete': { params: SessionDeleteParams; result: SessionDeleteResult };
  /** Makes a new session from the beginning of another one. */
  'v1.session.fork': { params: SessionForkParams; result: SessionResult };
  /** Compacts a session's context now; during a tool round, at the end of it. */
  'v1.session.compact': { params: SessionCompactParams; result: CompactionResult };
  /** Shows the model again what the last compaction took away. */
  'v1.session.undo_compact': { params: SessionUndoCompactParams; result: CompactionResult };
  /** Tells what the model would get now: sizes, limits and, if asked for, the messages. */
  'v1.session.context': { params: SessionContextParams; result: SessionContextResult };
  /** Sends what the client missed and then everything new; once more replaces the subscription. */
  'v1.session.subscribe': { params: SessionSubscribeParams; result: SubscribeResult };
  /** Ends the connection's subscription to a session, if there is one. */
  'v1.session.unsubscribe': { params: SessionUnsubscribeParams; result: UnsubscribeResult };
  /** Returns a page of a session's log. */
  'v1.session.log': { params: SessionLogParams; result: LogResult };
  /** Stores a user's message and has it answered; the answer comes as events. */
  'v1.message.send': { params: MessageSendParams; result: MessageSendResult };
  /** Returns a page of a session's messages; without a position the newest. */
  'v1.message.list': { params: MessageListParams; result: MessageListResult };
  /** Returns one message with all its data. */
  'v1.message.get': { params: MessageGetParams; result: MessageGetResult };
  /** Stops the running turn; what was shown of the answer is kept. */
  'v1.turn.stop': { params: TurnStopParams; result: TurnStopResult };
  /** Returns a turn. */
  'v1.turn.get': { params: TurnGetParams; result: TurnGetResult };
  /** Lists a session's turns, newest first. */
  'v1.turn.list': { params: TurnListParams; result: TurnListResult };
  /** Gives a tool call its result; the same result again is no error. */
  'v1.tool.submit_result': { params: ToolSubmitResultParams; result: ToolSubmitResultResult };
  /** Reserves a tool call for a while, or extends the reservation. */
  'v1.tool.claim': { params: ToolClaimParams; result: ToolClaimResult };
  /** Lists the memories of a session or of the owner, newest change first. */
  'v1.memory.list': { params: MemoryListParams; result: MemoryListResult };
  /** Writes a memory for a session or for the owner. */
  'v1.memory.create': { params: MemoryCreateParams; result: MemoryResult };
  /** Changes a memory, which is the client's from then on. */
  'v1.memory.update': { params: MemoryUpdateParams; result: MemoryResult };
  /** Deletes a memory. */
  'v1.memory.delete': { params: MemoryDeleteParams; result: MemoryDeleteResult };
  /** Returns this description. */
  'rpc.discover': { params: RpcDiscoverParams; result: JSONObject };
}

/** Params of v1.server.info. */
export interface ServerInfoParams {
}

/** Params of v1.session.create. */
export interface SessionCreateParams {
  /** The agent that answers; it stays for the session's life. */
  agent?: AgentInput;
  /** The text of AGENT.md. */
  agent_prompt?: string;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** The client's own data; all of it but white space is kept. */
  metadata?: JSONObject;
  /** One of the models of v1.server.info; absent: the default one. */
  model?: string;
  /** What is to deviate from the server's settings. */
  settings?: SettingsInput;
  /** The system prompt; absent: the server's. */
  system_prompt?: string;
  /** The title; absent: made from the first message. */
  title?: string;
  /** The tools that clients offer. */
  tools?: Array<ToolInput>;
}

/** Params of v1.session.get. */
export interface SessionGetParams {
  /** The session. */
  session_id: string;
}

/** Params of v1.session.list. */
export interface SessionListParams {
  /** The next_cursor of the page before. */
  cursor?: string;
  /** Most sessions of the page. */
  limit?: number;
  /** Only sessions with this status. */
  status?: 'closed' | 'running' | 'waiting_tool' | 'compacting' | 'idle';
}

/** Params of v1.session.update. */
export interface SessionUpdateParams {
  /** The session. */
  session_id: string;
  /** The new text of AGENT.md. */
  agent_prompt?: string;
  /** Fail with version_conflict unless this is the session's version. */
  if_version?: number;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** The client's new data. */
  metadata?: JSONObject;
  /** The new model, one of v1.server.info. */
  model?: string;
  /** The new settings; what is not named falls back to the server's. */
  settings?: SettingsInput;
  /** The new system prompt. */
  system_prompt?: string;
  /** The new title. */
  title?: string;
  /** The new todo list. */
  todo_list?: Array<TodoItemInput>;
  /** The new list of tools. */
  tools?: Array<ToolInput>;
}

/** Params of v1.session.close. */
export interface SessionCloseParams {
  /** The session. */
  session_id: string;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
}

/** Params of v1.session.open. */
export interface SessionOpenParams {
  /** The session. */
  session_id: string;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
}

/** Params of v1.session.delete. */
export interface SessionDeleteParams {
  /** The session. */
  session_id: string;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
}

/** Params of v1.session.fork. */
export interface SessionForkParams {
  /** The session. */
  session_id: string;
  /** The last entry to take over, moved back to the end of a unit; absent: the end of the last finished turn. */
  at_seq?: number;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** The new session's title; absent: the old one's. */
  title?: string;
}

/** Params of v1.session.compact. */
export interface SessionCompactParams {
  /** The session. */
  session_id: string;
  /** What the summary is to be like, in place of the usual instruction. */
  custom_instruction?: string;
  /** Only tell what would be done. */
  dry_run?: boolean;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** Answer when it has ended; else as soon as it was taken on. */
  wait?: boolean;
}

/** Params of v1.session.undo_compact. */
export interface SessionUndoCompactParams {
  /** The session. */
  session_id: string;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
}

/** Params of v1.session.context. */
export interface SessionContextParams {
  /** The session. */
  session_id: string;
  /** Also tell the messages; not for tickets. */
  include_view?: boolean;
}

/** Params of v1.session.subscribe. */
export interface SessionSubscribeParams {
  /** The session. */
  session_id: string;
  /** The last entry the client has, 0 for none; absent: only what happens from now on. */
  after_seq?: number;
  /** Whether to send v1.session.delta. */
  deltas?: boolean;
  /** all, or progress for activity without contents. */
  events?: 'all' | 'progress';
  /** The log that after_seq belongs to. */
  log_id?: string;
}

/** Params of v1.session.unsubscribe. */
export interface SessionUnsubscribeParams {
  /** The session. */
  session_id: string;
}

/** Params of v1.session.log. */
export interface SessionLogParams {
  /** The session. */
  session_id: string;
  /** Only entries after this one. */
  after_seq?: number;
  /** Most entries of the page. */
  limit?: number;
}

/** Params of v1.message.send. */
export interface MessageSendParams {
  /** The session. */
  session_id: string;
  /** What the user says: a string, or text and image blocks. */
  content: string | Array<{ type: 'text'; text: string; } | { type: 'image'; mime_type: string; data: string; }>;
  /** Files that go with the message. */
  attachments?: Array<AttachmentInput>;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** While a turn runs: wait for it, fail with busy, or stop it. */
  when_busy?: 'queue' | 'reject' | 'interrupt';
}

/** Params of v1.message.list. */
export interface MessageListParams {
  /** The session. */
  session_id: string;
  /** The messages after this seq, the oldest of them; not with before_seq. */
  after_seq?: number;
  /** The messages before this seq, the newest of them; not with after_seq. */
  before_seq?: number;
  /** Most messages of the page. */
  limit?: number;
}

/** Params of v1.message.get. */
export interface MessageGetParams {
  /** The session. */
  session_id: string;
  /** The message. */
  message_id: string;
}

/** Params of v1.turn.stop. */
export interface TurnStopParams {
  /** The session. */
  session_id: string;
  /** Also drop the messages that wait. */
  clear_queue?: boolean;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** Stop only this turn; absent: whatever is running. */
  turn_id?: string;
}

/** Params of v1.turn.get. */
export interface TurnGetParams {
  /** The session. */
  session_id: string;
  /** The turn. */
  turn_id: string;
}

/** Params of v1.turn.list. */
export interface TurnListParams {
  /** The session. */
  session_id: string;
  /** The next_cursor of the page before. */
  cursor?: string;
  /** Most turns of the page. */
  limit?: number;
}

/** Params of v1.tool.submit_result. */
export interface ToolSubmitResultParams {
  /** The session. */
  session_id: string;
  /** The call. */
  tool_use_id: string;
  /** The result: a string, or text and image blocks. */
  content: string | Array<{ type: 'text'; text: string; } | { type: 'image'; mime_type: string; data: string; }>;
  /** The token of v1.tool.claim; needed while the call is claimed. */
  claim_token?: string;
  /** The tool failed; the content says how. */
  is_error?: boolean;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
}

/** Params of v1.tool.claim. */
export interface ToolClaimParams {
  /** The session. */
  session_id: string;
  /** The call. */
  tool_use_id: string;
  /** How long the claim lives. */
  lease_ms: number;
  /** The token of a claim that still lives; extends it. */
  claim_token?: string;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
}

/** Params of v1.memory.list. */
export interface MemoryListParams {
  /** Whose memories. */
  scope: 'session' | 'user';
  /** The next_cursor of the page before. */
  cursor?: string;
  /** Most memories of the page. */
  limit?: number;
  /** Scope session: the session. */
  session_id?: string;
}

/** Params of v1.memory.create. */
export interface MemoryCreateParams {
  /** Whose memory it is to be. */
  scope: 'session' | 'user';
  /** What it is about. */
  category: 'decision' | 'context' | 'progress' | 'issue' | 'learning';
  /** The title. */
  title: string;
  /** What is to be remembered. */
  content: string;
  /** Scope user: how surely it is shown; absent: medium. */
  importance?: 'critical' | 'high' | 'medium' | 'low';
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** Scope session: the session. */
  session_id?: string;
}

/** Params of v1.memory.update. */
export interface MemoryUpdateParams {
  /** The memory. */
  memory_id: string;
  /** What it is about now. */
  category?: 'decision' | 'context' | 'progress' | 'issue' | 'learning';
  /** The new content. */
  content?: string;
  /** Scope user: how surely it is shown now. */
  importance?: 'critical' | 'high' | 'medium' | 'low';
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
  /** The new title. */
  title?: string;
}

/** Params of v1.memory.delete. */
export interface MemoryDeleteParams {
  /** The memory. */
  memory_id: string;
  /** Idempotency key: an equal call with the same key gets the first result again. */
  key?: string;
}

/** Params of rpc.discover. */
export interface RpcDiscoverParams {
}

/** What the server sends on its own: the params by name. */
export interface Notifications {
  /** A new log entry of a session, after it was stored; seq has no gaps. */
  'v1.session.event': Event;
  /** A piece of an answer while it is streamed. */
  'v1.session.delta': Delta;
  /** What a session is busy with. */
  'v1.session.activity': Activity;
  /** How full a session's context is; at most every 250 ms, and the last change is always told. */
  'v1.session.progress': SessionProgress;
  /** Something every client of the server should know. */
  'v1.server.notice': ServerNotice;
}

/** The data of a log entry by its type. */
export interface EventData {
  /** The session was created, or forked. */
  'session.created': SessionCreatedData;
  /** The session was changed, closed or opened. */
  'session.updated': SessionUpdatedData;
  /** The session and its log are gone; the last event. */
  'session.deleted': SessionDeletedData;
  /** A user's message waits for its turn; no message.added follows. */
  'message.queued': MessageData;
  /** A waiting message was taken out of the queue and will not be answered. */
  'message.dropped': MessageDroppedData;
  /** A message was added; ends the deltas of its items. */
  'message.added': MessageData;
  /** The user gave a command in place of a message. */
  'command': CommandData;
  /** A turn began to answer a message. */
  'turn.started': TurnStartedData;
  /** A turn ended. */
  'turn.completed': TurnCompletedData;
  /** The model called a tool; if it is one of the session's, a client must run it. */
  'tool.called': ToolCalledData;
  /** A client claimed a tool call. */
  'tool.claimed': ToolClaimedData;
  /** A tool call has its result. */
  'tool.resolved': ToolResolvedData;
  /** Something is shown to the model at the end of a message: AGENT.md, the todo list, memory. */
  'context.injected': ContextInjectedData;
  /** Old results of tools are shown to the model as placeholders from now on. */
  'context.cleared': ContextClearedData;
  /** Requests cost more than they should, or leave too little room for the conversation. */
  'context.warning': ContextWarningData;
  /** A compaction took effect: its outcome is applied or degraded. */
  'compaction.completed': Compaction;
  /** A compaction changed nothing: its outcome is failed, no_progress or aborted. */
  'compaction.failed': Compaction;
  /** A compaction was undone. */
  'compaction.undone': Compaction;
  /** A memory of the session changed, or one of its owner that this session changed. */
  'memory.changed': MemoryChangedData;
}

/** The types of log entries. */
export type EventType = keyof EventData;

export interface Activity {
  /** The session. */
  session_id: string;
  /** What is going on. */
  activity: 'compacting' | 'retrying' | 'waiting_tool' | 'none';
  /** When it began. */
  since: string;
  /** retrying: the number of the coming try, from 2. */
  attempt?: number;
  /** compacting: 0 if a client asked for it, 2 if it was due, 3 if a request was too large. */
  layer?: number;
  /** retrying: how long until then. */
  retry_in_ms?: number;
}

export interface Agent {
  /** The agent's name. */
  name: string;
  /** The agent's prompt. */
  system_prompt: string;
}

export interface AgentInput {
  /** The agent's name. */
  name: string;
  /** The agent's prompt. */
  system_prompt: string;
}

export interface AttachmentInput {
  /** The file's name. */
  name: string;
  /** The file's type. */
  mime_type: string;
  /** The file in base64; either this or text. */
  data?: string;
  /** The file as text; either this or data. */
  text?: string;
}

/** A piece of a message's content; its type says which. */
export type Block = TextBlock | ImageBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock;

export interface CacheReport {
  /** The share of the input of all calls, those for summaries and memory included, that was read from the cache. */
  hit_rate: number;
  /** The same of the chats that were answered, alone. */
  chat_hit_rate: number;
  /** The share of the input of these chats that could have been. */
  ideal_hit_rate: number;
  /** What the same calls cost where nothing is cached, in US dollars. */
  uncached_usd: number;
  /** What the cache saved of that; negative if writing to it cost more. */
  saved_usd: number;
}

export interface CommandData {
  /** Its name, such as compact. */
  command: string;
  /** What followed the name. */
  text?: string;
}

export interface Compaction {
  /** How it ended. */
  outcome: 'applied' | 'noop' | 'degraded' | 'no_progress' | 'failed' | 'aborted';
  /** The session's generation afterwards. */
  generation: number;
  /** What asked for it. */
  trigger: 'manual' | 'auto' | 'overflow';
  /** Who wrote the summary. */
  writer: 'model' | 'memory' | 'digest' | 'none';
  /** How hard it pressed, 0 to 3. */
  level: number;
  /** The first message that stays verbatim; 0: none does, or none left. */
  boundary_seq: number;
  /** Tokens of the next request before. */
  tokens_before: number;
  /** Tokens of the next request afterwards. */
  tokens_after: number;
  /** What of the user's words and files the summary message keeps. */
  survived: Survived;
  /** Whether custom_instruction decided the summary's form. */
  instruction_used: boolean;
  /** How long it took. */
  duration_ms: number;
  /** What it does to the cost of the input until the next one is due, these calls included; absent if the price is not known. */
  cache_effect_usd?: number;
  /** Their price in US dollars. */
  cost_usd?: number;
  /** The share of their input that was read from the prompt cache, 0 to 1. */
  hit_rate?: number;
  /** The user's newest message, if it lies before the boundary and stays all the same. */
  pinned_seq?: number;
  /** Why, where there is something to explain. */
  reason?: string;
  /** What the cache saved of that; negative if writing to it cost more. */
  saved_usd?: number;
  /** The summary message that stands for what has left; absent with events: progress. */
  summary?: string;
  /** What the same calls cost where nothing is cached. */
  uncached_usd?: number;
  /** What the summary's model calls used; absent if there was none. */
  usage?: Usage;
}

export interface CompactionPause {
  /** Why. */
  reason: 'no_progress' | 'summariser_failed';
  /** When it ends; absent: with the user's next message, or by growth. */
  until?: string;
}

export interface CompactionPlan {
  /** The first message that would leave. */
  from_seq: number;
  /** The last one. */
  through_seq: number;
  /** How many would leave. */
  messages: number;
  /** The tokens that a compaction aims at. */
  landing: number;
  /** Whether this one would get there. */
  lands: boolean;
}

export interface CompactionResult {
  /** The first message that stays verbatim; 0: none does, or none left. */
  boundary_seq?: number;
  /** What it does to the cost of the input until the next one is due, these calls included; absent if the price is not known. */
  cache_effect_usd?: number;
  /** Their price in US dollars. */
  cost_usd?: number;
  /** How long it took. */
  duration_ms?: number;
  /** The session's generation afterwards. */
  generation?: number;
  /** The share of their input that was read from the prompt cache, 0 to 1. */
  hit_rate?: number;
  /** Whether custom_instruction decided the summary's form. */
  instruction_used?: boolean;
  /** How hard it pressed, 0 to 3. */
  level?: number;
  /** How it ended. */
  outcome?: 'applied' | 'noop' | 'degraded' | 'no_progress' | 'failed' | 'aborted';
  /** The user's newest message, if it lies before the boundary and stays all the same. */
  pinned_seq?: number;
  /** dry_run: what would be done. */
  plan?: CompactionPlan;
  /** It was taken on; an event tells how it ended. */
  queued?: boolean;
  /** Why, where there is something to explain. */
  reason?: string;
  /** The key was used before; this is the first call's result. */
  replayed?: boolean;
  /** What the cache saved of that; negative if writing to it cost more. */
  saved_usd?: number;
  /** The summary message that stands for what has left. */
  summary?: string;
  /** What of the user's words and files the summary message keeps. */
  survived?: Survived;
  /** Tokens of the next request afterwards; of a plan the most it may be. */
  tokens_after?: number;
  /** Tokens of the next request before. */
  tokens_before?: number;
  /** What asked for it. */
  trigger?: 'manual' | 'auto' | 'overflow';
  /** What the same calls cost where nothing is cached. */
  uncached_usd?: number;
  /** What the summary's model calls used; absent if there was none. */
  usage?: Usage;
  /** Who wrote the summary. */
  writer?: 'model' | 'memory' | 'digest' | 'none';
}

export interface ContextClearedData {
  /** The tool_use_ids whose results are shown as a placeholder, or shorter, from now on. */
  ids: Array<string>;
  /** Tokens of the next request before. */
  tokens_before: number;
  /** Tokens of the next request afterwards. */
  tokens_after: number;
  /** Why. */
  reason: 'idle' | 'pressure' | 'overflow';
  /** What it does to the cost of the input until the next compaction, in US dollars; absent if the price is not known. */
  cache_effect_usd?: number;
}

export interface ContextInjectedData {
  /** The message at whose end it is shown. */
  target_message_id: string;
  /** What it is. */
  kind: 'agent_prompt' | 'todo_list' | 'session_memory' | 'user_memory';
  /** Its size as counted by the server. */
  tokens: number;
  /** What the model reads; absent for tickets. */
  text?: string;
}

export interface ContextPart {
  /** What it is: system, tools, a kind of attachment, outdated_attachments, summary, pinned_request, messages, open_round or thinking. */
  name: string;
  /** Its size as the provider counts. */
  tokens: number;
}

export interface ContextWarningData {
  /** What it is about. */
  kind: 'overhead' | 'cache';
  /** The same for people. */
  message: string;
  /** cache: the part, such as system, tools or message 3, in which requests differed from those before them so that most was missed. */
  first_difference?: string;
  /** cache: the share of the chats' input that was read from the prompt cache. */
  hit_rate?: number;
  /** cache: the share that could have been. */
  ideal_hit_rate?: number;
  /** overhead: L′, what a request may hold. */
  limit?: number;
  /** overhead: F, what every request begins with. */
  overhead_tokens?: number;
  /** overhead: what a request is made of, largest first. */
  parts?: Array<ContextPart>;
  /** overhead: T, where compaction begins by itself. */
  threshold?: number;
}

export interface Delta {
  /** The session. */
  session_id: string;
  /** The turn. */
  turn_id: string;
  /** The message's id, a slash and the block's index. */
  item_id: string;
  /** What the text is. */
  kind: 'text' | 'thinking' | 'tool_input';
  /** The number of the first chunk: append if it is the one you expect. */
  from: number;
  /** The number after the last chunk: expect it next. */
  to: number;
  /** The text of these chunks. */
  text: string;
}

/** One type of Entry. */
export interface EntryOf<T extends EventType> {
  /** The entry's place in the log, from 1 without a gap. */
  seq: number;
  /** When it was stored. */
  at: string;
  /** What it tells. */
  type: T;
  /** What the type says. */
  data: EventData[T];
  /** The turn it belongs to. */
  turn_id?: string;
}

/** Entry, whose type says what its data is. */
export type Entry = { [T in EventType]: EntryOf<T> }[EventType];

export interface ErrorData {
  /** What went wrong; switch on this. */
  kind: 'unauthenticated' | 'forbidden' | 'too_many_in_flight' | 'rate_limited' | 'overloaded' | 'shutting_down' | 'quota_exceeded' | 'content_too_large' | 'subscription_limit' | 'unsupported_media' | 'not_found' | 'busy' | 'queue_full' | 'version_conflict' | 'idempotency_conflict' | 'session_closed' | 'log_reset' | 'tool_call_not_found' | 'tool_call_claimed' | 'tool_call_resolved' | 'upstream_failed' | 'context_overflow';
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** content_too_large: the size of the content, where bytes decide. */
  bytes?: number;
  /** log_reset: the seq of the log's newest entry. */
  head_seq?: number;
  /** tool_call_claimed: when the claim ends. */
  lease_until?: string;
  /** context_overflow: the most tokens that fit. */
  limit?: number;
  /** log_reset: the log there is. */
  log_id?: string;
  /** content_too_large: the most bytes that are taken. */
  max_bytes?: number;
  /** content_too_large: the most that fits. */
  max_tokens?: number;
  /** unsupported_media, content_too_large: the member of the params. */
  path?: string;
  /** queue_full: how many messages are waiting. */
  queued?: number;
  /** quota_exceeded: which one, running_turns or memories. */
  quota?: string;
  /** unsupported_media, content_too_large: what is wrong with it. */
  reason?: string;
  /** How long to wait before the next try. */
  retry_after_ms?: number;
  /** content_too_large, context_overflow: the size. */
  tokens?: number;
  /** tool_call_…: the call. */
  tool_use_id?: string;
  /** version_conflict: the session's version now. */
  version?: number;
  /** not_found: what is missing, or not yours. */
  what?: 'session' | 'message' | 'turn' | 'memory';
}

/** One type of Event. */
export interface EventOf<T extends EventType> {
  /** The session. */
  session_id: string;
  /** The entry's place in the log, from 1 without a gap. */
  seq: number;
  /** When it was stored. */
  at: string;
  /** What it tells. */
  type: T;
  /** What the type says. */
  data: EventData[T];
  /** The turn it belongs to. */
  turn_id?: string;
}

/** Event, whose type says what its data is. */
export type Event = { [T in EventType]: EventOf<T> }[EventType];

export interface ForkPoint {
  /** The session that was forked. */
  session_id: string;
  /** The last entry that was taken over. */
  seq: number;
}

export interface ImageBlock {
  /** image. */
  type: 'image';
  /** The image's type. */
  mime_type: string;
  /** The size of the omitted data. */
  bytes?: number;
  /** The image in base64; absent only if omitted. */
  data?: string;
  /** true: the data is not here; v1.message.get has it. */
  omitted?: boolean;
  /** SHA-256 of the omitted data, in hex. */
  sha256?: string;
}

export interface InternalErrorData {
  /** Names the failure in the server's log. */
  incident: string;
}

export interface InvalidParamsData {
  /** The member that is wrong, such as tools[3].input_schema; empty for the params as a whole. */
  path: string;
  /** What is wrong with it. */
  reason: string;
}

export interface Limits {
  /** Largest incoming frame. */
  frame_bytes: number;
  /** Most messages in one batch. */
  batch: number;
  /** Most unanswered calls of one connection. */
  calls_in_flight: number;
  /** Most subscriptions of one connection. */
  subscriptions: number;
  /** Deepest nesting of arrays and objects in a frame. */
  nesting: number;
  /** Longest JSON-RPC id. */
  id_bytes: number;
  /** Most commands waiting for one session. */
  mailbox: number;
  /** Most messages waiting for their turn in one session. */
  queued_messages: number;
  /** Largest content of a tool result: its texts and its base64 data together. */
  tool_result_bytes: number;
  /** Longest system prompt, and longest agent prompt. */
  prompt_bytes: number;
  /** Most tools of one session. */
  tools: number;
  /** Largest list of tools, as JSON. */
  tools_bytes: number;
  /** Longest title, and longest name of an agent or attachment. */
  title_bytes: number;
  /** Largest metadata, as JSON. */
  metadata_bytes: number;
  /** Longest instruction of a compaction. */
  instruction_bytes: number;
  /** Longest title of a memory. */
  memory_title_bytes: number;
  /** Longest content of a memory. */
  memory_content_bytes: number;
  /** Most memories of one session. */
  session_memories: number;
  /** Most memories of scope user of one owner. */
  user_memories: number;
  /** Time between two pings of the server. */
  ping_ms: number;
  /** Longest silence before a connection is closed. */
  pong_ms: number;
  /** Longest time one message may take to be written to a connection. */
  write_ms: number;
  /** Calls an owner may make a minute; absent: no such limit. */
  calls_per_minute?: number;
  /** Turns of an owner that may run at once, over all sessions; absent: no such limit. */
  running_turns?: number;
}

export interface LogResult {
  /** In order of seq, without a gap. */
  entries: Array<Entry>;
  /** The seq of the newest entry of the log. */
  head_seq: number;
  /** The log that the seqs belong to. */
  log_id: string;
  /** There are entries after the last one of the page. */
  more: boolean;
}

export interface Memory {
  /** The memory's id. */
  id: string;
  /** Whose it is: a session's, or its owner's in all sessions. */
  scope: 'session' | 'user';
  /** What it is about. */
  category: 'decision' | 'context' | 'progress' | 'issue' | 'learning';
  /** The title. */
  title: string;
  /** What is remembered. */
  content: string;
  /** Who wrote it as it is. */
  source: 'client' | 'model' | 'extraction';
  /** When it was created. */
  created_at: string;
  /** When it was last changed. */
  updated_at: string;
  /** How surely it is shown; absent for scope session. */
  importance?: 'critical' | 'high' | 'medium' | 'low';
  /** The session; absent for scope user. */
  session_id?: string;
  /** The entries of the session that it was learned from. */
  source_seqs?: Array<number>;
}

export interface MemoryChangedData {
  /** What became of it. */
  change: 'created' | 'updated' | 'deleted';
  /** The memory. */
  memory_id: string;
  /** The memory after the change; absent if it was deleted, and for tickets. */
  memory?: Memory;
}

export interface MemoryDeleteResult {
  /** The key was used before. */
  replayed?: boolean;
}

export interface MemoryListResult {
  /** Newest change first. */
  memories: Array<Memory>;
  /** Where the next page begins; absent on the last one. */
  next_cursor?: string;
}

export interface MemoryResult {
  /** The memory after the call. */
  memory: Memory;
  /** The key was used before; this is the first call's result. */
  replayed?: boolean;
}

export interface Message {
  /** The message's id. */
  id: string;
  /** The entry that stores it. */
  seq: number;
  /** The turn it belongs to. */
  turn_id: string;
  /** Who speaks. */
  role: 'user' | 'assistant';
  /** What is said. */
  content: Array<Block>;
  /** When it was stored. */
  created_at: string;
  /** What the model call that made it used. */
  usage?: Usage;
}

export interface MessageData {
  /** The message; data over 64 KiB omitted. */
  message: Message;
}

export interface MessageDroppedData {
  /** The message. */
  message_id: string;
}

export interface MessageGetResult {
  /** The message, nothing omitted. */
  message: Message;
}

export interface MessageListResult {
  /** In the order of the conversation. */
  messages: Array<Message>;
  /** There are more in the direction that was asked for. */
  more: boolean;
}

export interface MessageSendResult {
  /** The entry that stores the message, or the command. */
  seq: number;
  /** The turn waits for another one. */
  queued: boolean;
  /** The key was used before; nothing was sent again. */
  replayed: boolean;
  /** It was a command, and is carried out. */
  command?: boolean;
  /** What became of the files; absent if there were none. */
  files?: Array<SentFile>;
  /** The message's id; absent for a command. */
  message_id?: string;
  /** The turn that answers it; absent for a command. */
  turn_id?: string;
}

export interface ModelInfo {
  /** The name to give as model. */
  name: string;
  /** The one that is used if none is given. */
  default: boolean;
}

export interface OpenItem {
  /** The message's id, a slash and the block's index. */
  item_id: string;
  /** The turn. */
  turn_id: string;
  /** What the text is. */
  kind: 'text' | 'thinking' | 'tool_input';
  /** The from of the next delta. */
  next: number;
  /** Everything up to there. */
  text: string;
}

export interface PendingToolCall {
  /** The call's id, unique in the session. */
  tool_use_id: string;
  /** The turn that waits for it. */
  turn_id: string;
  /** The tool. */
  name: string;
  /** When the server gives it an error result. */
  deadline: string;
  /** Whether a client has claimed it. */
  status: 'pending' | 'claimed';
  /** The tool's input, byte for byte; absent for read tickets. */
  input?: JSONObject;
  /** When the claim ends. */
  lease_until?: string;
}

export interface SentFile {
  /** Its name. */
  name: string;
  /** What the whole file costs. */
  tokens: number;
  /** What the model is shown of it. */
  shown_tokens: number;
  /** What was done to it, in words; absent if nothing was. */
  changes?: Array<string>;
}

export interface ServerInfoResult {
  /** The server's name. */
  name: string;
  /** The server's version. */
  version: string;
  /** The protocol. */
  protocol: 'sessiond.v1';
  /** The limits the server runs with. */
  limits: Limits;
  /** The models a session may use. */
  models: Array<ModelInfo>;
  /** The server's clock. */
  now: string;
}

export interface ServerNotice {
  /** What is about to happen. */
  kind: 'shutting_down' | 'auth_expiring';
  /** How long to wait before reconnecting. */
  retry_after_ms?: number;
}

export interface Session {
  /** The session's id. */
  id: string;
  /** Changes when the log is not the one a client knew; give it when resuming. */
  log_id: string;
  /** The title; made from the first message if none was given. */
  title: string;
  /** What the session is doing; the first of the listed values that applies. */
  status: 'closed' | 'running' | 'waiting_tool' | 'compacting' | 'idle';
  /** Messages waiting for their turn. */
  queued: number;
  /** The model that answers. */
  model: string;
  /** The tools that clients offer. */
  tools: Array<Tool>;
  /** The todo list. */
  todo_list: Array<TodoItem>;
  /** What deviates from the server's settings. */
  settings: Settings;
  /** The client's own data; all of it but white space is kept. */
  metadata: JSONObject;
  /** Counts the changes made by v1.session.update, from 1. */
  version: number;
  /** The seq of the newest log entry. */
  head_seq: number;
  /** Counts compactions and undos. */
  generation: number;
  /** How hard the next compaction has to press, 0 to 3; above 0 after a provider refused a request as too large. */
  reactive_level: number;
  /** When it was created. */
  created_at: string;
  /** When it was last active. */
  updated_at: string;
  /** Tool calls that wait for a result. */
  pending_tool_calls: Array<PendingToolCall>;
  /** What all its model calls used together. */
  usage: Usage;
  /** What the provider's prompt cache did about their cost. */
  cache: CacheReport;
  /** Tokens of the next request as it would be sent now. */
  current_context_tokens: number;
  /** The size at which compaction begins by itself. */
  compression_threshold: number;
  /** The one in percent of the other, with one decimal; over 100 if it is exceeded. */
  compression_progress: number;
  /** What the next model call is expected to come to. */
  estimated_next_round_tokens: number;
  /** Model calls until then as growth has been, at most 999; -1 if it is exceeded. */
  rounds_until_compression: number;
  /** Counted by the server; false: by the provider. */
  estimated: boolean;
  /** The agent; absent for tickets. */
  agent?: Agent;
  /** The text of AGENT.md; absent if empty, and for tickets. */
  agent_prompt?: string;
  /** When it was closed; absent unless it is. */
  closed_at?: string;
  /** Why no summary is made by itself; absent unless one is held back. */
  compaction_paused?: CompactionPause;
  /** Where this session was forked from. */
  forked_from?: ForkPoint;
  /** The system prompt; absent if empty, and for tickets. */
  system_prompt?: string;
}

export interface SessionContextResult {
  /** The model it is for. */
  model: string;
  /** Tokens of the next request as it would be sent now. */
  current_context_tokens: number;
  /** The size at which compaction begins by itself. */
  compression_threshold: number;
  /** The one in percent of the other, with one decimal; over 100 if it is exceeded. */
  compression_progress: number;
  /** What the next model call is expected to come to. */
  estimated_next_round_tokens: number;
  /** Model calls until then as growth has been, at most 999; -1 if it is exceeded. */
  rounds_until_compression: number;
  /** Counted by the server; false: by the provider. */
  estimated: boolean;
  /** Tokens of the next request as it would be sent now. */
  context_tokens: number;
  /** The same without the open tool round and the pinned request, which no compaction can shrink. */
  judged: number;
  /** What it is made of, largest first. */
  parts: Array<ContextPart>;
  /** L: the limit in force. */
  context_tokens_limit: number;
  /** L′: what a request may hold, given the model's window. */
  input_limit: number;
  /** What an answer may hold. */
  max_output_tokens: number;
  /** How far below L′ compaction begins. */
  buffer_tokens: number;
  /** F: what no compaction can shrink: system prompt, tools and attachments. */
  overhead: number;
  /** T: where compaction begins by itself. */
  threshold: number;
  /** H: T − F. */
  headroom: number;
  /** What a compaction aims at. */
  landing: number;
  /** The size over which one is made even if that was not worth it lately. */
  high: number;
  /** The size over which a failed summary is replaced by a digest. */
  edge: number;
  /** The most tokens of a summary. */
  summary_cap: number;
  /** The most tokens of the user's own words in it. */
  ledger_cap: number;
  /** What messages that stay and files that are shown again have together. */
  share: number;
  /** The size over which a pinned request is shown in part. */
  pinned_tokens: number;
  /** How hard the next compaction has to press, 0 to 3. */
  level: number;
  /** Counts compactions and undos. */
  generation: number;
  /** The first message that is shown verbatim; 0: nothing has left, or nothing follows. */
  boundary_seq: number;
  /** The tool_use_ids of results that are shown as a placeholder. */
  cleared: Array<string>;
  /** The provider's tokens for one token as counted here. */
  ratio: number;
  /** What tokens are counted by here. */
  encoding: string;
  /** Why no summary is made by itself; absent unless one is held back. */
  compaction_paused?: CompactionPause;
  /** The message of the user that is shown although it lies before the boundary. */
  pinned_seq?: number;
  /** include_view: the messages as the model would be shown them. */
  view?: Array<ViewMessage>;
}

export interface SessionCreatedData {
  /** The title. */
  title: string;
  /** The model that answers. */
  model: string;
  /** Where the session was forked from. */
  forked_from?: ForkPoint;
}

export interface SessionDeleteResult {
  /** The key was used before. */
  replayed?: boolean;
}

export interface SessionDeletedData {
}

export interface SessionGetResult {
  /** The session now. */
  session: Session;
}

export interface SessionListResult {
  /** Newest activity first. */
  sessions: Array<Session>;
  /** Where the next page begins; absent on the last one. */
  next_cursor?: string;
}

export interface SessionProgress {
  /** The session. */
  session_id: string;
  /** Tokens of the next request as it would be sent now. */
  current_context_tokens: number;
  /** The size at which compaction begins by itself. */
  compression_threshold: number;
  /** The one in percent of the other, with one decimal; over 100 if it is exceeded. */
  compression_progress: number;
  /** What the next model call is expected to come to. */
  estimated_next_round_tokens: number;
  /** Model calls until then as growth has been, at most 999; -1 if it is exceeded. */
  rounds_until_compression: number;
  /** Counted by the server; false: by the provider. */
  estimated: boolean;
  /** What all its model calls used together. */
  usage: Usage;
}

export interface SessionResult {
  /** The session after the call. */
  session: Session;
  /** The key was used before; this is the first call's result. */
  replayed?: boolean;
}

export interface SessionUpdatedData {
  /** The session's version now. */
  version: number;
  /** The members of the session that changed. */
  fields: Array<string>;
  /** The new status, if the session was closed or opened. */
  status?: 'closed' | 'running' | 'waiting_tool' | 'compacting' | 'idle';
  /** The new title, if it changed. */
  title?: string;
}

export interface Settings {
  /** How far below the limit the context is compacted, less than the limit; 0: by the server's rule. */
  auto_compact_buffer_tokens?: number;
  /** Most tokens of a request to the model. */
  context_tokens_limit?: number;
  /** Most model calls of one turn. */
  max_rounds_per_turn?: number;
  /** How much the model reasons before it answers. */
  thinking?: 'off' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
}

export interface SettingsInput {
  /** How far below the limit the context is compacted, less than the limit; 0: by the server's rule. */
  auto_compact_buffer_tokens?: number;
  /** Most tokens of a request to the model. */
  context_tokens_limit?: number;
  /** Most model calls of one turn. */
  max_rounds_per_turn?: number;
  /** How much the model reasons before it answers. */
  thinking?: 'off' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
}

export interface SubscribeResult {
  /** The session now. */
  session: Session;
  /** The seq of the newest log entry. */
  head_seq: number;
  /** The log that the seqs belong to. */
  log_id: string;
  /** The entries after after_seq. */
  entries: Array<Entry>;
  /** The page was too small and the subscription is not live yet: ask again from the last entry. */
  more: boolean;
  /** What is being streamed right now. */
  open_items: Array<OpenItem>;
  /** Tool calls that wait for a result. */
  pending_tool_calls: Array<PendingToolCall>;
}

export interface Survived {
  /** Messages of the user that are in it word for word. */
  user_messages: number;
  /** Those with their beginning and end. */
  user_messages_cut: number;
  /** Those that are only counted. */
  user_messages_counted: number;
  /** Files that are shown again. */
  files: number;
}

export interface TextBlock {
  /** text. */
  type: 'text';
  /** The size of the omitted data. */
  bytes?: number;
  /** true: the data is not here; v1.message.get has it. */
  omitted?: boolean;
  /** SHA-256 of the omitted data, in hex. */
  sha256?: string;
  /** The text; absent only if omitted. */
  text?: string;
}

export interface ThinkingBlock {
  /** thinking. */
  type: 'thinking';
  /** Whose reasoning it is. */
  provider: string;
  /** The size of the omitted data. */
  bytes?: number;
  /** true: the data is not here; v1.message.get has it. */
  omitted?: boolean;
  /** What the provider wants back, opaque. */
  raw?: unknown;
  /** SHA-256 of the omitted data, in hex. */
  sha256?: string;
  /** What may be shown of it; absent only if omitted. */
  text?: string;
}

export interface TodoItem {
  /** What is to be done, in the imperative. */
  content: string;
  /** The same while it is being done. */
  active_form: string;
  /** How far it is. */
  status: 'pending' | 'in_progress' | 'completed';
}

export interface TodoItemInput {
  /** What is to be done, in the imperative. */
  content: string;
  /** The same while it is being done. */
  active_form: string;
  /** How far it is. */
  status: 'pending' | 'in_progress' | 'completed';
}

export interface Tool {
  /** The name, unique in the session. */
  name: string;
  /** What the model is told about it. */
  description: string;
  /** JSON Schema of the input, of type object; all of it but white space is kept. */
  input_schema: { type: 'object'; [member: string]: unknown; };
  /** Whether old results may be cleared from the model's context; absent: decided by name. */
  cleanable?: boolean;
  /** The input member that names the file the tool reads. */
  reads?: string;
  /** How long a call may wait for its result; absent: the server's default. */
  timeout_ms?: number;
}

export interface ToolCalledData {
  /** The call's id, unique in the session. */
  tool_use_id: string;
  /** The tool. */
  name: string;
  /** The tool's input, byte for byte as the model wrote it. */
  input: JSONObject;
  /** When the server gives it an error result. */
  deadline: string;
}

export interface ToolClaimResult {
  /** Resolves the call while the claim lives. */
  claim_token: string;
  /** When the claim ends. */
  lease_until: string;
  /** The key was used before; this is the first call's result. */
  replayed?: boolean;
}

export interface ToolClaimedData {
  /** The call. */
  tool_use_id: string;
  /** When the claim ends. */
  lease_until: string;
}

export interface ToolInput {
  /** The name, unique in the session. */
  name: string;
  /** What the model is told about it. */
  description: string;
  /** JSON Schema of the input, of type object; all of it but white space is kept. */
  input_schema: { type: 'object'; [member: string]: unknown; };
  /** Whether old results may be cleared from the model's context; absent: decided by name. */
  cleanable?: boolean;
  /** The input member that names the file the tool reads. */
  reads?: string;
  /** How long a call may wait for its result; absent: the server's default. */
  timeout_ms?: number;
}

export interface ToolResolvedData {
  /** The call. */
  tool_use_id: string;
  /** Who gave the result. */
  by: 'client' | 'builtin' | 'timeout' | 'stop' | 'crash';
  /** Text and image blocks; data over 64 KiB omitted. */
  content: Array<Block>;
  /** The tool failed. */
  is_error: boolean;
}

export interface ToolResultBlock {
  /** tool_result. */
  type: 'tool_result';
  /** The call that it answers. */
  tool_use_id: string;
  /** Text and image blocks. */
  content: Array<Block>;
  /** The tool failed. */
  is_error: boolean;
}

export interface ToolSubmitResultResult {
  /** The call has this result. */
  accepted: boolean;
  /** It had it before. */
  replayed: boolean;
}

export interface ToolUseBlock {
  /** tool_use. */
  type: 'tool_use';
  /** The call's id, unique in the session. */
  id: string;
  /** The tool. */
  name: string;
  /** The size of the omitted data. */
  bytes?: number;
  /** The tool's input, byte for byte as the model wrote it; absent only if omitted. */
  input?: JSONObject;
  /** true: the data is not here; v1.message.get has it. */
  omitted?: boolean;
  /** SHA-256 of the omitted data, in hex. */
  sha256?: string;
}

export interface Turn {
  /** The turn's id. */
  id: string;
  /** The session. */
  session_id: string;
  /** The user's message that began it. */
  message_id: string;
  /** Where it stands. */
  status: 'queued' | 'running' | 'completed' | 'stopped' | 'failed' | 'interrupted' | 'dropped';
  /** Model calls so far. */
  rounds: number;
  /** What they used together. */
  usage: Usage;
  /** The price in US dollars. */
  cost_usd: number;
  /** The share of their input that was read from the prompt cache, 0 to 1. */
  hit_rate: number;
  /** What the same calls cost where nothing is cached. */
  uncached_usd: number;
  /** What the cache saved of that; negative if writing to it cost more. */
  saved_usd: number;
  /** When its message was stored. */
  created_at: string;
  /** When it ended. */
  completed_at?: string;
  /** Why it failed or was interrupted. */
  error?: TurnError;
  /** When it began to run. */
  started_at?: string;
  /** The same by purpose. */
  usage_by_purpose?: UsageByPurpose;
}

export interface TurnCompletedData {
  /** How it ended. */
  status: 'completed' | 'stopped' | 'failed' | 'interrupted';
  /** What its model calls used together. */
  usage: Usage;
  /** The price in US dollars. */
  cost_usd: number;
  /** Why it failed or was interrupted. */
  error?: TurnError;
  /** Why the last answer ended before the model was done; absent if it did not. */
  stop_reason?: 'max_tokens' | 'context_window';
}

export interface TurnError {
  /** The reason; switch on this. */
  kind: 'context_overflow' | 'upstream_failed' | 'round_limit' | 'time_limit' | 'token_limit' | 'refused' | 'quota_exceeded' | 'crash' | 'internal';
  /** The same for people. */
  message?: string;
}

export interface TurnGetResult {
  /** The turn. */
  turn: Turn;
}

export interface TurnListResult {
  /** Newest first. */
  turns: Array<Turn>;
  /** Where the next page begins; absent on the last one. */
  next_cursor?: string;
}

export interface TurnStartedData {
  /** The message that is answered. */
  message_id: string;
  /** The message is in an earlier message.queued; else in the message.added that comes with this. */
  queued?: boolean;
}

export interface TurnStopResult {
  /** Something was running and has been stopped. */
  stopped: boolean;
  /** The key was used before; this is the first call's result. */
  replayed?: boolean;
}

export interface UnsubscribeResult {
}

export interface Usage {
  /** Tokens sent that no cache had or kept. */
  input: number;
  /** Tokens of the answers, reasoning included. */
  output: number;
  /** Tokens read from the provider's prompt cache. */
  cache_read: number;
  /** Tokens written to it for five minutes. */
  cache_write_5m: number;
  /** Tokens written to it for an hour. */
  cache_write_1h: number;
  /** The part of output that was reasoning. */
  reasoning: number;
  /** The price in US dollars. */
  cost_usd: number;
}

export interface UsageByPurpose {
  /** Answering the user. */
  chat?: Usage;
  /** Bringing the session's memory up to date. */
  memory?: Usage;
  /** Writing summaries for compactions. */
  summary?: Usage;
}

export interface ViewMessage {
  /** Who speaks. */
  role: 'user' | 'assistant';
  /** What is shown of it; data over 64 KiB omitted. */
  content: Array<Block>;
  /** The message of the log that is shown; absent for a summary message. */
  id?: string;
  /** The entry that stores it. */
  seq?: number;
}

/** The kinds of failure that have a code of their own. */
export type ErrorKind = ErrorData['kind'];
