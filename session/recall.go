package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"sessiond/compaction"
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
	historyPage        = 40 // hits that are looked at together
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
	x := indexer{log: r.store, ref: ref, called: make(map[message.ToolUseID]string)}
	for from < upTo {
		entries, err := r.store.Entries(ctx, store.EntryQuery{
			Ref: ref, AfterSeq: from, BeforeSeq: upTo + 1, MaxBytes: indexedAtOnceBytes,
			Kinds: []string{string(EntryMessageAdded), string(EntryMessageQueued), string(EntryToolCalled), string(EntryToolResolved)},
		})
		if err != nil {
			return fmt.Errorf("read what is to be indexed: %w", err)
		}
		if len(entries) == 0 {
			return nil
		}
		texts, err := x.texts(ctx, entries)
		if err != nil {
			return err
		}
		if err := r.store.IndexText(ctx, texts); err != nil {
			return fmt.Errorf("index: %w", err)
		}
		from = entries[len(entries)-1].Seq
	}
	return nil
}

// recallArgs is the input of history_search.
type recallArgs struct {
	Query     string `json:"query"`
	BeforeSeq int64  `json:"before_seq"`
}

// search finds what has left the view of a query, newest first: one more than is shown, if
// there are so many.
func (r *recaller) search(ctx context.Context, ref store.Ref, args recallArgs, left *compaction.Left) ([]store.SearchHit, error) {
	newest := left.Newest()
	if err := r.catchUp(ctx, ref, newest); err != nil {
		return nil, err
	}
	q := store.SearchQuery{Ref: ref, Query: args.Query, BeforeSeq: newest + 1, Limit: historyPage}
	if args.BeforeSeq > 0 {
		q.BeforeSeq = min(q.BeforeSeq, args.BeforeSeq)
	}
	var found []store.SearchHit
	for {
		hits, err := r.store.SearchText(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("search the history: %w", err)
		}
		for _, h := range hits {
			if !hasLeft(left, &h) {
				continue
			}
			if found = append(found, h); len(found) > historyHits {
				return found, nil
			}
		}
		if len(hits) < q.Limit {
			return found, nil
		}
		q.BeforeSeq = hits[len(hits)-1].Seq
	}
}

func hasLeft(left *compaction.Left, h *store.SearchHit) bool {
	if h.Role == roleOfResults {
		return left.HasResult(h.Seq)
	}
	return left.HasMessage(h.Seq)
}

// recalled writes what was found.
func recalled(hits []store.SearchHit) string {
	if len(hits) == 0 {
		return fmt.Sprintf("No message that left the view has these words. Of very long ones only the first %d KiB are searched.", store.MaxSearchBytes>>10)
	}
	var b strings.Builder
	for i, h := range hits {
		if i == historyHits {
			b.WriteString("There are more; narrow the query, or look before an older number with before_seq.\n")
			break
		}
		b.WriteString(message.Wrap("message", excerpt(h),
			message.Attr{Name: "seq", Value: strconv.FormatInt(h.Seq, 10)}, message.Attr{Name: "role", Value: h.Role}) + "\n")
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

// startRecall searches what left the view.
func (a *actor) startRecall(t *turnRun, c *toolCall) {
	var args recallArgs
	if err := json.Unmarshal(c.use.Input, &args); err != nil {
		a.endBuiltin(t, c, "", fmt.Errorf("the input does not fit the schema: %w", err))
		return
	}
	if strings.TrimSpace(args.Query) == "" {
		a.endBuiltin(t, c, "", errors.New("the query is empty"))
		return
	}
	left := a.history.state.Left()
	if left == nil {
		a.endBuiltin(t, c, "Nothing has left the view: the whole conversation is before you.", nil)
		return
	}
	a.inBackground(t, c, func(ctx context.Context, done *builtinDone) {
		hits, err := a.m.recall.search(ctx, a.ref, args, left)
		if err != nil {
			a.log.Warn("history_search failed", zap.Error(err))
			done.err = errors.New("the history can't be searched just now")
			return
		}
		done.text = recalled(hits)
	})
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
