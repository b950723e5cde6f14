package v1

// Limits are the bounds a server runs with. They are told by v1.server.info, and
// the rules of params refer to them by their JSON names.
type Limits struct {
	FrameBytes         int64 `json:"frame_bytes" doc:"Largest incoming frame."`
	Batch              int64 `json:"batch" doc:"Most messages in one batch."`
	CallsInFlight      int64 `json:"calls_in_flight" doc:"Most unanswered calls of one connection."`
	Subscriptions      int64 `json:"subscriptions" doc:"Most subscriptions of one connection."`
	Nesting            int64 `json:"nesting" doc:"Deepest nesting of arrays and objects in a frame."`
	IDBytes            int64 `json:"id_bytes" doc:"Longest JSON-RPC id."`
	Mailbox            int64 `json:"mailbox" doc:"Most commands waiting for one session."`
	QueuedMessages     int64 `json:"queued_messages" doc:"Most messages waiting for their turn in one session."`
	ToolResultBytes    int64 `json:"tool_result_bytes" doc:"Largest content of a tool result: its texts and its base64 data together."`
	PromptBytes        int64 `json:"prompt_bytes" doc:"Longest system prompt, and longest agent prompt."`
	Tools              int64 `json:"tools" doc:"Most tools of one session."`
	ToolsBytes         int64 `json:"tools_bytes" doc:"Largest list of tools, as JSON."`
	TitleBytes         int64 `json:"title_bytes" doc:"Longest title, and longest name of an agent or attachment."`
	MetadataBytes      int64 `json:"metadata_bytes" doc:"Largest metadata, as JSON."`
	InstructionBytes   int64 `json:"instruction_bytes" doc:"Longest instruction of a compaction."`
	MemoryTitleBytes   int64 `json:"memory_title_bytes" doc:"Longest title of a memory."`
	MemoryContentBytes int64 `json:"memory_content_bytes" doc:"Longest content of a memory."`
	SessionMemories    int64 `json:"session_memories" doc:"Most memories of one session."`
	UserMemories       int64 `json:"user_memories" doc:"Most memories of scope user of one owner."`
	PingMS             int64 `json:"ping_ms" doc:"Time between two pings of the server."`
	PongMS             int64 `json:"pong_ms" doc:"Longest silence before a connection is closed."`
	WriteMS            int64 `json:"write_ms" doc:"Longest time one message may take to be written to a connection."`
	CallsPerMinute     int64 `json:"calls_per_minute,omitempty" doc:"Calls an owner may make a minute; absent: no such limit."`
	RunningTurns       int64 `json:"running_turns,omitempty" doc:"Turns of an owner that may run at once, over all sessions; absent: no such limit."`
}

// DefaultLimits are the limits of a server that was told nothing else.
func DefaultLimits() Limits {
	const kib, mib = 1 << 10, 1 << 20
	return Limits{
		FrameBytes:         8 * mib,
		Batch:              50,
		CallsInFlight:      64,
		Subscriptions:      64,
		Nesting:            64,
		IDBytes:            256,
		Mailbox:            64,
		QueuedMessages:     16,
		ToolResultBytes:    4 * mib,
		PromptBytes:        256 * kib,
		Tools:              128,
		ToolsBytes:         mib,
		TitleBytes:         256,
		MetadataBytes:      16 * kib,
		InstructionBytes:   8 * kib,
		MemoryTitleBytes:   256,
		MemoryContentBytes: 8 * kib,
		SessionMemories:    200,
		UserMemories:       500,
		PingMS:             20_000,
		PongMS:             45_000,
		WriteMS:            10_000,
		CallsPerMinute:     300,
		RunningTurns:       64,
	}
}
