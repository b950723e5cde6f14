package demo

import (
	"context"
	"time"
	"unicode"
	"unicode/utf8"

	"sessiond/llm"
	"sessiond/message"
)

// limit cuts the text to what the caller allows for an answer.
func (r *reply) limit(maxTokens int) {
	if maxTokens <= 0 || len(r.text) <= maxTokens*bytesPerToken {
		return
	}
	cut := maxTokens * bytesPerToken
	for cut > 0 && !utf8.RuneStart(r.text[cut]) {
		cut--
	}
	r.text, r.calls, r.stop = r.text[:cut], nil, llm.StopMaxTokens
}

// streamer emits an answer piece by piece.
type streamer struct {
	emit    func(llm.Delta)
	pause   time.Duration
	content []message.Block
}

func (s *streamer) play(ctx context.Context, r *reply, window int64) (*llm.Response, error) {
	if err := sleep(ctx, r.wait); err != nil {
		return nil, err
	}
	if r.fault != nil {
		return s.playFault(ctx, r, window)
	}
	if r.thinking != "" {
		if err := s.pieces(ctx, llm.DeltaThinking, r.thinking); err != nil {
			return nil, err
		}
		s.content = append(s.content, message.Thinking{Provider: Name, Text: r.thinking})
	}
	if err := s.pieces(ctx, llm.DeltaText, r.text); err != nil {
		return nil, err
	}
	s.content = append(s.content, message.Text{Text: r.text})
	for _, c := range r.calls {
		if err := s.pieces(ctx, llm.DeltaToolInput, c.input); err != nil {
			return nil, err
		}
		s.content = append(s.content, message.ToolUse{ID: message.NewToolUseID(), Name: c.name, Input: []byte(c.input)})
	}
	return &llm.Response{Content: s.content, Stop: r.stop}, nil
}

func (s *streamer) playFault(ctx context.Context, r *reply, window int64) (*llm.Response, error) {
	err := r.fault.err(window)
	text := r.text
	if err == nil || r.fault.halfway {
		text = firstHalf(text)
	}
	if r.fault.halfway || r.fault.kind == faultCut || r.fault.kind == faultRefusal {
		if failed := s.pieces(ctx, llm.DeltaText, text); failed != nil {
			return nil, failed
		}
		s.content = append(s.content, message.Text{Text: text})
	}
	if err != nil {
		return nil, err
	}
	resp := &llm.Response{Content: s.content, Stop: llm.StopEnd}
	switch r.fault.kind {
	case faultCut:
		resp.Stop = llm.StopMaxTokens
	case faultRefusal:
		resp.Stop = llm.StopRefusal
	}
	return resp, nil
}

func firstHalf(text string) string {
	runes := []rune(text)
	return string(runes[:(len(runes)+1)/2])
}

func (s *streamer) pieces(ctx context.Context, kind llm.DeltaKind, text string) error {
	for text != "" {
		n := pieceLen(text)
		if err := sleep(ctx, s.pause); err != nil {
			return err
		}
		s.emit(llm.Delta{Block: len(s.content), Kind: kind, Text: text[:n]})
		text = text[n:]
	}
	return nil
}

const maxPieceRunes = 12

// pieceLen returns the length of the next piece of a text that is not empty: up to
// and including a space, two wide characters, or a dozen runes.
func pieceLen(text string) int {
	wide, runes := 0, 0
	for i, r := range text {
		if runes == maxPieceRunes || wide == 2 {
			return i
		}
		runes++
		if unicode.IsSpace(r) {
			return i + utf8.RuneLen(r)
		}
		if unicode.Is(unicode.Han, r) {
			wide++
		}
	}
	return len(text)
}

// sleep waits for d or the end of ctx, whose error it returns. It looks at ctx even
// if there is nothing to wait for.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
