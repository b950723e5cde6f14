package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/store"
)

const toolHistorySearch = "history_search"

func historySearchSpec() llm.Tool {
	return llm.Tool{
		Name: toolHistorySearch,
		Description: "Find earlier messages of this conversation that are no longer in view, word for word. " +
			"All words of the query must occur; before_seq looks only at messages before that number.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"before_seq":{"type":"integer"}},"required":["query"]}`),
	}
}

// The bounds of what a search of the history returns.
const (
	historyHits        = 8
	historyScanned     = 40 // hits that are looked at to find so many that left the view
	historyHitBefore   = 300
	historyHitAfter    = 900
	indexedAtOnceBytes = 1 << 20
)

// recaller searches the logs of sessions. The index is brought up to date when it is
// needed and after a compaction, not when a message is stored; one of a session at a time.
type recaller struct {
	store store.Store
	log   *zap.Logger

	mu   sync.Mutex
	busy map[store.Ref]chan struct{} // closed when the session is indexed
}

// catchUp indexes what a session's log has beyond the index, up to a seq.
func (r *recaller) catchUp(ctx context.Context, ref store.Ref, upTo int64) error {
	for {
		r.mu.Lock()
		other, busy := r.busy[ref]
		if !busy {
			if r.busy == nil {
				r.busy = make(map[store.Ref]chan struct{})
			}
			mine := make(chan struct{})
			r.busy[ref] = mine
			r.mu.Unlock()
			defer func() {
				r.mu.Lock()
				delete(r.busy, ref)
				r.mu.Unlock()
				close(mine)
			}()
			return r.index(ctx, ref, upTo)
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *recaller) index(ctx context.Context, ref store.Ref, upTo int64) error {
	from, err := r.store.IndexedSeq(ctx, ref)
	if err != nil {
		return fmt.Errorf("find what is indexed: %w", err)
	}
	for from < upTo {
		entries, err := r.store.Entries(ctx, store.EntryQuery{
			Ref: ref, AfterSeq: from, BeforeSeq: upTo + 1, MaxBytes: indexedAtOnceBytes,
			Kinds: []string{string(EntryMessageAdded), string(EntryMessageQueued), string(EntryToolResolved)},
		})
		if err != nil {
			return fmt.Errorf("read what is to be indexed: %w", err)
		}
		if len(entries) == 0 {
			return nil
		}
		texts := make([]store.SearchText, len(entries))
		for i := range entries {
			if texts[i], err = searchText(ref, &entries[i]); err != nil {
				return err
			}
		}
		if err := r.store.IndexText(ctx, texts); err != nil {
			return fmt.Errorf("index: %w", err)
		}
		from = entries[len(entries)-1].Seq
	}
	return nil
}

// searchText is what can be found of an entry: words, calls and results. Results are
// found where they came in, not a second time in the message that refers to them.
func searchText(ref store.Ref, e *store.Entry) (store.SearchText, error) {
	out := store.SearchText{Ref: ref, Seq: e.Seq}
	if EntryKind(e.Kind) == EntryToolResolved {
		_, res, err := decodeResolved(e)
		out.Role, out.Text = "tool", message.JoinText(res.Content)
		return out, err
	}
	m, err := decodeMessage(e)
	if err != nil {
		return out, err
	}
	out.Role = string(m.Role)
	var parts []string
	for _, b := range m.Content {
		switch b := b.(type) {
		case message.Text:
			parts = append(parts, b.Text)
		case message.ToolUse:
			parts = append(parts, b.Name+" "+string(b.Input))
		case message.Thinking, message.Image, message.ToolResult:
		}
	}
	out.Text = strings.Join(parts, "\n")
	return out, nil
}

// recallArgs is the input of history_search.
type recallArgs struct {
	Query     string `json:"query"`
	BeforeSeq int64  `json:"before_seq"`
}

// search finds what a session's log has of a query before a seq, newest first.
func (r *recaller) search(ctx context.Context, ref store.Ref, args recallArgs, upTo int64) ([]store.SearchHit, error) {
	if err := r.catchUp(ctx, ref, upTo); err != nil {
		return nil, err
	}
	hits, err := r.store.SearchText(ctx, store.SearchQuery{Ref: ref, Query: args.Query, BeforeSeq: args.BeforeSeq, Limit: historyScanned})
	if err != nil {
		return nil, fmt.Errorf("search the history: %w", err)
	}
	return hits, nil
}

// recalled writes the hits that left the view.
func recalled(hits []store.SearchHit, left func(seq int64) bool) string {
	var b strings.Builder
	n := 0
	for _, h := range hits {
		if !left(h.Seq) {
			continue
		}
		if n++; n > historyHits {
			b.WriteString("There are more; narrow the query, or look before an older number with before_seq.\n")
			break
		}
		b.WriteString(message.Wrap("message", excerpt(h),
			message.Attr{Name: "seq", Value: strconv.FormatInt(h.Seq, 10)}, message.Attr{Name: "role", Value: h.Role}) + "\n")
	}
	if n == 0 {
		return "No message that left the view has these words."
	}
	return b.String()
}

// excerpt is a hit's text around the place where it matches.
func excerpt(h store.SearchHit) string {
	from, to := max(h.Start-historyHitBefore, 0), min(h.End+historyHitAfter, len(h.Text))
	for from > 0 && h.Text[from]&0xC0 == 0x80 {
		from--
	}
	text := cutBytes(h.Text[from:], to-from)
	if from > 0 {
		text = "… " + text
	}
	if to < len(h.Text) {
		text += " …"
	}
	return text
}

// indexHistory brings the index up to date with what is stored, in the background.
func (a *actor) indexHistory() {
	a.then(func(ctx context.Context) {
		upTo := a.published
		a.spawn(func() {
			if err := a.m.recall.catchUp(ctx, a.ref, upTo); err != nil && ctx.Err() == nil {
				a.log.Warn("the history could not be indexed; it is tried again when it is searched", zap.Error(err))
			}
		})
	})
}
