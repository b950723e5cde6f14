package replay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// Place is where a fact can be found once its conversation was compacted.
type Place string

// The places, the nearest to the model first.
const (
	PlaceVerbatim Place = "verbatim" // in a message that the model is shown
	PlaceSummary  Place = "summary"  // in the summary message: the notes, the user's words, files
	PlaceLog      Place = "log"      // in a message that the summary message points to
	PlaceCleared  Place = "cleared"  // in a result of the log that a placeholder points to
	PlaceNowhere  Place = "nowhere"
)

// FindFacts looks for each fact of a session's conversation, in the order of the facts.
func FindFacts(ctx context.Context, conn *client.Conn, sessionID string, facts []Fact) ([]Place, error) {
	var now v1.SessionContextResult
	params := map[string]any{"session_id": sessionID, "include_view": true}
	if err := conn.Call(ctx, v1.MethodSessionContext, params, &now); err != nil {
		return nil, err
	}
	summary, shown, err := splitView(now.View)
	if err != nil {
		return nil, err
	}
	log, err := readLog(ctx, conn, sessionID, &now)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(summary, "history_search") {
		log.left = ""
	}
	places := make([]Place, len(facts))
	for i, f := range facts {
		switch {
		case strings.Contains(shown, f.Text):
			places[i] = PlaceVerbatim
		case strings.Contains(summary, f.Text):
			places[i] = PlaceSummary
		case strings.Contains(log.left, f.Text):
			places[i] = PlaceLog
		case strings.Contains(log.cleared, f.Text):
			places[i] = PlaceCleared
		default:
			places[i] = PlaceNowhere
		}
	}
	return places, nil
}

// splitView returns the summary message of a view and its other messages, as JSON.
func splitView(view []json.RawMessage) (summary, shown string, err error) {
	var rest strings.Builder
	for _, raw := range view {
		var m v1.ViewMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return "", "", err
		}
		if m.ID == "" {
			summary += string(raw)
			continue
		}
		rest.Write(raw)
	}
	return summary, rest.String(), nil
}

// logTexts are the messages and results of a log, as JSON: those that have left the
// view, and those that it shows a placeholder for.
type logTexts struct{ left, cleared string }

func readLog(ctx context.Context, conn *client.Conn, sessionID string, now *v1.SessionContextResult) (logTexts, error) {
	var left, cleared strings.Builder
	for after := int64(0); ; {
		var page v1.LogResult
		params := map[string]any{"session_id": sessionID, "after_seq": after}
		if err := conn.Call(ctx, v1.MethodSessionLog, params, &page); err != nil {
			return logTexts{}, err
		}
		for _, raw := range page.Entries {
			var e v1.Entry
			if err := json.Unmarshal(raw, &e); err != nil {
				return logTexts{}, err
			}
			after = e.Seq
			if e.Type != v1.EventMessageAdded && e.Type != v1.EventToolResolved {
				continue
			}
			if now.Generation > 0 && (now.BoundarySeq == 0 || e.Seq < now.BoundarySeq) {
				left.Write(e.Data)
			} else if id, err := toolUseID(e); err == nil && slices.Contains(now.Cleared, id) {
				cleared.Write(e.Data)
			}
		}
		if !page.More || len(page.Entries) == 0 {
			return logTexts{left.String(), cleared.String()}, nil
		}
	}
}
