package server

import (
	"context"

	v1 "sessiond/rpc/v1"
)

// Name is how the server calls itself.
const Name = "sessiond"

func serverInfo(_ context.Context, c *connection, _ call[v1.ServerInfoParams]) (any, error) {
	out := v1.ServerInfoResult{
		Name: Name, Version: c.server.opts.Version, Protocol: v1.Protocol,
		Limits: c.server.opts.Limits, Now: c.server.opts.Now(),
	}
	for i, name := range c.server.sessions.Models() {
		out.Models = append(out.Models, v1.ModelInfo{Name: name, Default: i == 0})
	}
	return out, nil
}

func discover(_ context.Context, c *connection, _ call[v1.DiscoverParams]) (any, error) {
	return rawJSON(c.server.openRPC), nil
}
