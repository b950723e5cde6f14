package server

import (
	"context"

	"sessiond/message"
	v1 "sessiond/rpc/v1"
)

func turnStop(ctx context.Context, c *connection, in call[v1.TurnStopParams]) (any, error) {
	r, err := c.server.sessions.Stop(ctx, in.ref, message.TurnID(in.params.TurnID), in.params.ClearQueue, in.idem)
	if err != nil {
		return nil, err
	}
	return v1.TurnStopResult{Stopped: r.Value.Stopped, Replayed: r.Replayed}, nil
}

func turnGet(ctx context.Context, c *connection, in call[v1.TurnGetParams]) (any, error) {
	t, err := c.server.sessions.Turn(ctx, in.ref, message.TurnID(in.params.TurnID))
	if err != nil {
		return nil, err
	}
	return v1.TurnGetResult{Turn: wireTurn(t)}, nil
}

func turnList(ctx context.Context, c *connection, in call[v1.TurnListParams]) (any, error) {
	limit := int(in.params.Limit)
	var at turnCursor
	if in.params.Cursor != "" {
		if err := decodeCursor(in.params.Cursor, &at); err != nil {
			return nil, err
		}
	}
	turns, err := c.server.sessions.Turns(ctx, in.ref, at.Before, limit+1)
	if err != nil {
		return nil, err
	}
	var out v1.TurnListResult
	if len(turns) > limit {
		turns = turns[:limit]
		out.NextCursor = encodeCursor(turnCursor{turns[limit-1].CreatedSeq})
	}
	for _, t := range turns {
		out.Turns = append(out.Turns, wireTurn(t))
	}
	return out, nil
}

// turnCursor is the place in a list of turns after its last row.
type turnCursor struct {
	Before int64 `json:"b"`
}
