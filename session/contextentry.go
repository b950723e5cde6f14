package session

import (
	"encoding/json"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// The bodies of the entries that tell how the conversation is shown. What is stored has
// all that is needed to show it the same way again; clients see what matters to them.
type (
	commandBody struct {
		Command string `json:"command"`
		Text    string `json:"text,omitempty"` // what followed its name
	}
	warningBody struct {
		Kind      string            `json:"kind"`
		Message   string            `json:"message"`
		Overhead  int               `json:"overhead_tokens"`
		Threshold int               `json:"threshold"`
		Limit     int               `json:"limit"`
		Parts     []compaction.Part `json:"parts"`
	}
	compactedBody struct {
		Record *compaction.Record `json:"record"`
		Result *Compaction        `json:"result"` // without the summary, which the record has
	}
	undoneBody struct {
		Undone compaction.Undone `json:"undone"`
		Result *Compaction       `json:"result"`
	}
)

// warningOverhead is the kind of a warning that the fixed parts of a request leave too
// little room for the conversation.
const warningOverhead = "overhead"

// injectedData is what clients see of a context.injected entry.
func injectedData(in *compaction.Injection) []byte {
	return encode(struct {
		TargetID message.ID                `json:"target_message_id"`
		Kind     compaction.AttachmentKind `json:"kind"`
		Text     string                    `json:"text"`
		Tokens   int                       `json:"tokens"`
	}{in.TargetID, in.Kind, in.Text, in.Tokens})
}

// clearedData is what clients see of a context.cleared entry.
func clearedData(c *clearedBody) []byte {
	return encode(struct {
		IDs            []message.ToolUseID    `json:"ids"`
		TokensBefore   int                    `json:"tokens_before"`
		TokensAfter    int                    `json:"tokens_after"`
		Reason         compaction.ClearReason `json:"reason"`
		CacheEffectUSD *float64               `json:"cache_effect_usd,omitempty"`
	}{c.IDs(), c.TokensBefore, c.TokensAfter, c.Reason, c.CacheEffectUSD})
}

// compactedData is what clients see of a compaction.completed entry.
func compactedData(b *compactedBody) []byte {
	told := *b.Result
	told.Summary = b.Record.Text
	return encode(&told)
}

// contextData is what clients see of a stored entry about the context; ok is false for
// entries that are shown as they are stored.
func contextData(e *store.Entry) (data json.RawMessage, ok bool, err error) {
	switch EntryKind(e.Kind) { //nolint:exhaustive // the others are shown as they are stored
	case EntryContextInjected:
		b, err := decodeBody[compaction.Injection](e)
		return injectedData(&b), true, err
	case EntryContextCleared:
		b, err := decodeBody[clearedBody](e)
		if err != nil {
			return nil, true, err
		}
		return clearedData(&b), true, nil
	case EntryCompactionCompleted:
		b, err := decodeBody[compactedBody](e)
		if err != nil {
			return nil, true, err
		}
		return compactedData(&b), true, nil
	case EntryCompactionUndone:
		b, err := decodeBody[undoneBody](e)
		return encode(b.Result), true, err
	}
	return nil, false, nil
}
