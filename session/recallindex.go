package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sessiond/message"
	"sessiond/store"
)

// roleOfResults is the role under which results of tools are indexed.
const roleOfResults = "tool"

// recallTools are the tools that only repeat what has its own place. Their calls and results
// can't be found: found again and again they would bury that. Nor is anything learned from
// what they return.
func recallTools() []string { return []string{toolHistorySearch, toolMemorySearch} }

func recalls(tool string) bool { return slices.Contains(recallTools(), tool) }

// indexer makes the texts of one session's entries.
type indexer struct {
	log    store.Log
	ref    store.Ref
	called map[message.ToolUseID]string // names of tools by their calls, as far as they were read
}

// texts are what can be found of entries: words, calls and results. Results are found
// where they came in, not a second time in the message that refers to them.
func (x *indexer) texts(ctx context.Context, entries []store.Entry) ([]store.SearchText, error) {
	texts := make([]store.SearchText, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		text := store.SearchText{Ref: x.ref, Seq: e.Seq}
		var err error
		switch EntryKind(e.Kind) { //nolint:exhaustive // called for these only
		case EntryToolCalled:
			if err := x.note(e); err != nil {
				return nil, err
			}
			continue
		case EntryToolResolved:
			text.Role = roleOfResults
			text.Text, err = x.result(ctx, e)
		default:
			text.Role, text.Text, err = wordsOf(e)
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func (x *indexer) note(e *store.Entry) error {
	body, err := decodeBody[toolCalledBody](e)
	x.called[body.ToolUseID] = body.Name
	return err
}

func (x *indexer) result(ctx context.Context, e *store.Entry) (string, error) {
	id, res, err := decodeResolved(e)
	if err != nil {
		return "", err
	}
	if err := x.lookBack(ctx, id, e.Seq); err != nil {
		return "", err
	}
	if recalls(x.called[id]) {
		return "", nil
	}
	return message.JoinText(res.Content), nil
}

// callsAtOnce is how many calls are read together to find one.
const callsAtOnce = 32

// lookBack makes sure that a call is known, which may have been indexed before its result
// came.
func (x *indexer) lookBack(ctx context.Context, id message.ToolUseID, before int64) error {
	for {
		if _, known := x.called[id]; known {
			return nil
		}
		entries, err := x.log.Entries(ctx, store.EntryQuery{
			Ref: x.ref, BeforeSeq: before, Descending: true, Kinds: []string{string(EntryToolCalled)},
			Limit: callsAtOnce, MaxBytes: indexedAtOnceBytes,
		})
		if err != nil {
			return fmt.Errorf("read the calls before entry %d: %w", before, err)
		}
		if len(entries) == 0 {
			x.called[id] = "" // a result without a call
			return nil
		}
		for i := range entries {
			if err := x.note(&entries[i]); err != nil {
				return err
			}
		}
		before = entries[len(entries)-1].Seq
	}
}

// wordsOf is the role of a message, what it says, and its calls.
func wordsOf(e *store.Entry) (role, text string, err error) {
	m, err := decodeMessage(e)
	if err != nil {
		return "", "", err
	}
	var parts []string
	for _, b := range m.Content {
		switch b := b.(type) {
		case message.Text:
			parts = append(parts, b.Text)
		case message.ToolUse:
			if !recalls(b.Name) {
				parts = append(parts, b.Name+" "+string(b.Input))
			}
		case message.Thinking, message.Image, message.ToolResult:
		}
	}
	return string(m.Role), strings.Join(parts, "\n"), nil
}
