package rpc

import (
	"encoding/json"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// Error codes of JSON-RPC 2.0 and of this layer. Other codes belong to the domain.
const (
	CodeParseError      = jsonrpc2.CodeParseError
	CodeInvalidRequest  = jsonrpc2.CodeInvalidRequest
	CodeMethodNotFound  = jsonrpc2.CodeMethodNotFound
	CodeInvalidParams   = jsonrpc2.CodeInvalidParams
	CodeInternalError   = jsonrpc2.CodeInternalError
	CodeCancelled       = -32800
	CodeTooManyInFlight = -31005
)

// Error is the error object of a reply. A handler that returns one, wrapped or
// not, decides what the peer sees; every other error becomes an incident.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"` // marshalled like a result, without HTML escaping
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("rpc error %d: %s", e.Code, e.Message)
}

// MethodNotFound is the answer to a method that does not exist.
func MethodNotFound() *Error {
	return &Error{Code: CodeMethodNotFound, Message: "Method not found"}
}

// InvalidParams is the answer to params of the wrong shape: path names the
// member ("tools[0].name"; empty: the params themselves), reason what is wrong
// with it.
func InvalidParams(path, reason string) *Error {
	return &Error{Code: CodeInvalidParams, Message: "Invalid params", Data: struct {
		Path   string `json:"path"`
		Reason string `json:"reason"`
	}{path, reason}}
}

func parseError() *Error {
	return &Error{Code: CodeParseError, Message: "Parse error"}
}

// invalidRequest has a reason only where the rule is not one of the
// specification's own examples, whose answers carry no data.
func invalidRequest(reason string) *Error {
	e := &Error{Code: CodeInvalidRequest, Message: "Invalid Request"}
	if reason != "" {
		e.Data = struct {
			Reason string `json:"reason"`
		}{reason}
	}
	return e
}

// idInUse refuses a second live request with the same id. It is answered with id
// null, so that the reply is not taken for that of the first one.
func idInUse(id []byte) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid Request", Data: struct {
		ID     json.RawMessage `json:"id"`
		Reason string          `json:"reason"`
	}{id, "a request with this id is still in flight"}}
}

func tooManyInFlight() *Error {
	return &Error{Code: CodeTooManyInFlight, Message: "too many requests in flight", Data: struct {
		Kind      string `json:"kind"`
		Retryable bool   `json:"retryable"`
	}{"too_many_in_flight", true}}
}

func cancelled() *Error {
	return &Error{Code: CodeCancelled, Message: "request cancelled"}
}

func internalError(incident string) *Error {
	return &Error{Code: CodeInternalError, Message: "Internal error", Data: struct {
		Incident string `json:"incident"`
	}{incident}}
}
