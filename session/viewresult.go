package session

import (
	"context"

	"sessiond/message"
	"sessiond/store"
)

// viewResult is the result of a call that returns a session. Only its id is remembered
// under a key: prompts and tools can be large, and the same call again is answered with
// the session as it is then, or with not_found once it was deleted.
type viewResult struct {
	ID message.SessionID `json:"id"`

	view *View // of the first call
}

func resultOf(v *View) viewResult { return viewResult{ID: v.ID, view: v} }

// withView turns a result into a view, looking a remembered one up.
func (m *Manager) withView(ctx context.Context, owner string, r Replay[viewResult], err error) (Replay[*View], error) {
	if err != nil {
		return Replay[*View]{}, err
	}
	v := r.Value.view
	if v == nil {
		if v, err = m.Get(ctx, store.Ref{Owner: owner, ID: r.Value.ID}); err != nil {
			return Replay[*View]{}, err
		}
	}
	return Replay[*View]{Value: v, Replayed: r.Replayed}, nil
}
