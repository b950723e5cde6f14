package session

import (
	"context"
	"errors"
	"fmt"

	"sessiond/compaction"
	"sessiond/ingest"
	"sessiond/message"
	"sessiond/store"
	"sessiond/tokens"
)

// SentFile tells what became of a file that came with a message.
type SentFile struct {
	Name    string   `json:"name"`
	Tokens  int      `json:"tokens"`            // of the whole
	Shown   int      `json:"shown_tokens"`      // of what the model is shown
	Changes []string `json:"changes,omitempty"` // what was done to it, in words
}

// SendFiles is [Manager.Send] of a message with files: pictures are checked and scaled
// down, text is decoded and wrapped, and what is too long is shown by head and tail, the
// log keeping it whole. Errors: as Send, and unsupported_media, content_too_large.
func (m *Manager) SendFiles(ctx context.Context, ref store.Ref, content []message.Block, files []ingest.File, busy WhenBusy, i Idempotency) (Replay[SendResult], error) {
	if known, found, err := lookUp[SendResult](ctx, m, ref, i); found || err != nil {
		return known, err
	}
	view, err := m.Get(ctx, ref)
	if err != nil {
		return Replay[SendResult]{}, err
	}
	given, err := m.take(ctx, content, files, m.room(view, content))
	if err != nil {
		return Replay[SendResult]{}, err
	}
	if blank(given.Blocks) {
		return Replay[SendResult]{}, errInvalid("content", "says nothing: every block is blank")
	}
	measure := m.measureParts(given.Parts)
	told := sentFiles(files, given)
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[SendResult]]) command {
		return sendCommand{keyed{i}, given.Blocks, measure, told, busy, p}
	})
}

// room is how much of a message's content may be shown.
type room struct {
	file int // tokens of one file
	all  int // tokens of words and files together
}

// leastRoom is what a file may always have: with less there is no room for a conversation
// either, which its turn says better.
const leastRoom = 256

// room leaves a file half of what a conversation has before it is compacted, what stands
// beside it and how the model counts taken into account, and words and files together three
// quarters of it. Words are never too long: where they do not fit the model is shown their
// beginning and end.
func (m *Manager) room(v *View, content []message.Block) room {
	ratio := v.fixed.ratio
	if ratio == 0 {
		ratio = compaction.NewCalibration(m.models.info(v.Settings.Model).ratio).Ratio
	}
	b := m.planner.Budget(m.limits(v.Settings), int(float64(v.fixed.tokens)*ratio))
	open := max(int(float64(b.Headroom)/ratio), 2*leastRoom)
	words := 0
	for _, block := range content {
		if t, ok := block.(message.Text); ok {
			words += m.opts.Counter.Count(t.Text)
		}
	}
	return room{file: open / 2, all: words + max(open*3/4-words, open/4)}
}

// take checks content and files. Few do it at the same time: pictures can be large.
func (m *Manager) take(ctx context.Context, content []message.Block, files []ingest.File, r room) (ingest.Result, error) {
	select {
	case m.taking <- struct{}{}:
		defer func() { <-m.taking }()
	case <-ctx.Done():
		return ingest.Result{}, ctx.Err()
	}
	given, err := ingest.Files(content, files, ingest.Options{
		Counter: m.opts.Counter, ImageTokens: m.imageFormula(), MaxFileTokens: r.file, MaxTokens: r.all,
		Animated: m.opts.Provider != providerOpenAI, PDF: m.opts.PDF,
	})
	if refused, ok := errors.AsType[*ingest.Error](err); ok {
		return given, contentError(refused)
	}
	if err != nil {
		return given, fmt.Errorf("take the content: %w", err)
	}
	return given, nil
}

// contentError tells a client what is wrong with its content.
func contentError(e *ingest.Error) error {
	data := map[string]any{"path": e.Path, "reason": e.Reason}
	switch e.Kind {
	case ingest.KindInvalidParam:
		return errInvalid(e.Path, e.Reason)
	case ingest.KindTooLarge:
		if e.MaxTokens > 0 {
			data["tokens"], data["max_tokens"] = e.Tokens, e.MaxTokens
		} else {
			data["bytes"], data["max_bytes"] = e.Bytes, e.MaxBytes
		}
		return &Error{Kind: KindContentTooLarge, Message: e.Error(), Data: data}
	case ingest.KindUnsupportedMedia:
	}
	return &Error{Kind: KindUnsupportedMedia, Message: e.Error(), Data: data}
}

// measureParts is the measure of content that was counted when it was taken.
func (m *Manager) measureParts(parts []ingest.Part) compaction.Measure {
	out := compaction.Measure{Encoding: m.planner.Encoding(), Blocks: make([]compaction.BlockMeasure, len(parts))}
	for i, p := range parts {
		out.Blocks[i].Tokens = p.Tokens
		if c := p.Cut; c != nil {
			out.Blocks[i].Cut = &compaction.Cut{Head: c.Head, Tail: c.Tail, Missing: c.Missing, Tokens: c.Tokens}
		}
	}
	return out
}

func sentFiles(files []ingest.File, given ingest.Result) []SentFile {
	var told []SentFile
	for _, p := range given.Parts {
		if p.File >= 0 {
			told = append(told, SentFile{Name: files[p.File].Name, Tokens: p.Tokens, Shown: p.Shown(), Changes: p.Changes})
		}
	}
	return told
}

// takeResult checks the pictures of a tool's result. Its text is not cut here: how much
// of it is shown is decided when its round is complete.
func (m *Manager) takeResult(ctx context.Context, content []message.Block) ([]message.Block, error) {
	if !hasImages(content) {
		return content, nil
	}
	given, err := m.take(ctx, content, nil, room{})
	return given.Blocks, err
}

func (m *Manager) imageFormula() func(w, h int) int {
	if m.opts.Provider == providerOpenAI {
		return tokens.OpenAIImageTokens
	}
	return tokens.AnthropicImageTokens
}
