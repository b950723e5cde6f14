package cost

import (
	"bytes"
	"fmt"
	"slices"

	"sessiond/llm"
	"sessiond/message"
)

// PartKind is a kind of part of a request.
type PartKind string

// The kinds, in the order in which a prompt cache meets them.
const (
	PartModel    PartKind = "model"     // each model has its own cache
	PartCacheKey PartKind = "cache key" // and, where requests are routed by it, each key
	PartTools    PartKind = "tools"
	PartSystem   PartKind = "system"
	PartSettings PartKind = "settings" // thinking and the choice of tools: they count for all messages
	PartMessage  PartKind = "message"
	PartImages   PartKind = "images" // nothing else, but their number: it too counts for all messages (rule 5.8)
)

// What stands in place of a part that can't be named.
const (
	PartNone    PartKind = ""        // nothing differs
	PartUnknown PartKind = "unknown" // the messages of the request before are not known any more
)

// Part names a part of a request.
type Part struct {
	Kind    PartKind
	Message int // index of the message, for PartMessage
}

// String is what the part is called where people read it: its kind, and which message.
func (p Part) String() string {
	switch p.Kind { //nolint:exhaustive // the others are called by their kind
	case PartMessage:
		return fmt.Sprintf("message %d", p.Message)
	case PartNone:
		return "nothing that was sent"
	case PartUnknown:
		return "messages that are not known any more"
	}
	return string(p.Kind)
}

// FirstDifference names the first part of next that is not as it was in prev, and so ends
// what the cache can read. There is none if next only goes on, without more images, after
// the end of prev. Where next ends within prev it is the message after its last.
//
// It compares what requests say, which is what is sent, as the same request is always
// written with the same bytes. Cache marks are no difference. Parts that share memory cost
// nothing to compare.
func FirstDifference(prev, next *llm.Request) (Part, bool) {
	switch {
	case prev.Model != next.Model:
		return Part{Kind: PartModel}, true
	case prev.CacheKey != next.CacheKey:
		return Part{Kind: PartCacheKey}, true
	case !slices.EqualFunc(prev.Tools, next.Tools, sameTool):
		return Part{Kind: PartTools}, true
	case prev.System != next.System:
		return Part{Kind: PartSystem}, true
	case prev.Thinking != next.Thinking || prev.ToolChoice != next.ToolChoice:
		return Part{Kind: PartSettings}, true
	}
	if part, differs := firstMessage(prev.Messages, next.Messages); differs {
		return part, true
	}
	if images(prev.Messages) != images(next.Messages) {
		return Part{Kind: PartImages}, true
	}
	return Part{}, false
}

// firstMessage compares messages block by block: providers join neighbours of one role, so
// where one message ends and the next begins is no difference.
func firstMessage(prev, next []message.Message) (Part, bool) {
	at, block := 0, 0 // in next
	for i := range prev {
		for _, b := range prev[i].Content {
			for at < len(next) && block == len(next[at].Content) {
				at, block = at+1, 0
			}
			if at == len(next) || next[at].Role != prev[i].Role || !sameBlock(b, next[at].Content[block]) {
				return Part{Kind: PartMessage, Message: at}, true
			}
			block++
		}
	}
	return Part{}, false
}

func images(msgs []message.Message) int {
	n := 0
	for i := range msgs {
		n += imagesAmong(msgs[i].Content)
	}
	return n
}

func imagesAmong(content []message.Block) int {
	n := 0
	for _, b := range content {
		switch b := b.(type) {
		case message.Image:
			n++
		case message.ToolResult:
			n += imagesAmong(b.Content)
		case message.Text, message.Thinking, message.ToolUse:
		}
	}
	return n
}

func sameTool(a, b llm.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}

func sameBlock(a, b message.Block) bool {
	switch a := a.(type) {
	case message.Text:
		return a == b
	case message.Image:
		return a == b
	case message.Thinking:
		b, ok := b.(message.Thinking)
		return ok && a.Provider == b.Provider && a.Text == b.Text && bytes.Equal(a.Raw, b.Raw)
	case message.ToolUse:
		b, ok := b.(message.ToolUse)
		return ok && a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Input, b.Input)
	case message.ToolResult:
		b, ok := b.(message.ToolResult)
		return ok && a.ToolUseID == b.ToolUseID && a.IsError == b.IsError && slices.EqualFunc(a.Content, b.Content, sameBlock)
	}
	return false
}
