package v1

import "time"

// Protocol is the name of the protocol, offered as WebSocket subprotocol.
const Protocol = "sessiond.v1"

// ServerInfoParams are the params of v1.server.info.
type ServerInfoParams struct{}

// ServerInfoResult is the result of v1.server.info.
type ServerInfoResult struct {
	Name     string      `json:"name" doc:"The server's name."`
	Version  string      `json:"version" doc:"The server's version."`
	Protocol string      `json:"protocol" v:"const=sessiond.v1" doc:"The protocol."`
	Limits   Limits      `json:"limits" doc:"The limits the server runs with."`
	Models   []ModelInfo `json:"models" doc:"The models a session may use."`
	Now      time.Time   `json:"now" doc:"The server's clock."`
}

// ModelInfo is a model that sessions may use.
type ModelInfo struct {
	Name    string `json:"name" doc:"The name to give as model."`
	Default bool   `json:"default" doc:"The one that is used if none is given."`
}

// DiscoverParams are the params of rpc.discover.
type DiscoverParams struct{}
