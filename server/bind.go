package server

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"sessiond/message"
	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
	"sessiond/store"
)

// call is a decoded call of a method with params P.
type call[P any] struct {
	params P
	ref    store.Ref // owner, and the session if the method is about one
	idem   session.Idempotency
}

// boundMethod is a row of the registry with what answers it.
type boundMethod struct {
	v1.Method
	metrics methodMetrics
	invoke  func(ctx context.Context, c *connection, m *boundMethod, raw rawJSON) (any, error)
}

// handler answers calls with params P. A result that is a struct of the contract is
// encoded by the registry; a rawJSON or rpc.Deferred goes out as it is.
type handler[P any] func(ctx context.Context, c *connection, call call[P]) (any, error)

type binding struct {
	params reflect.Type
	invoke func(ctx context.Context, c *connection, m *boundMethod, raw rawJSON) (any, error)
}

func bind[P any](h handler[P]) binding {
	return binding{reflect.TypeFor[P](), func(ctx context.Context, c *connection, m *boundMethod, raw rawJSON) (any, error) {
		params, err := v1.Decode[P](c.server.registry, raw)
		if err != nil {
			return nil, err
		}
		in := call[P]{params: params, ref: store.Ref{Owner: c.principal.owner}}
		if p, ok := any(params).(interface{ Session() string }); ok {
			in.ref.ID = message.SessionID(p.Session())
			if !c.principal.mayTouch(in.ref.ID) {
				return nil, kindError(v1.KindForbidden, "the ticket is not for this session", 0)
			}
		}
		if p, ok := any(params).(interface{ IdempotencyKey() string }); ok && p.IdempotencyKey() != "" {
			in.idem = session.Idempotency{Method: m.Name, Key: p.IdempotencyKey()}
			if in.idem.Fingerprint, err = v1.Fingerprint(raw); err != nil {
				return nil, err
			}
		}
		return h(ctx, c, in)
	}}
}

// bindings name the handler of every method.
func bindings() map[string]binding {
	return map[string]binding{
		v1.MethodServerInfo:         bind(serverInfo),
		v1.MethodDiscover:           bind(discover),
		v1.MethodSessionCreate:      bind(sessionCreate),
		v1.MethodSessionGet:         bind(sessionGet),
		v1.MethodSessionList:        bind(sessionList),
		v1.MethodSessionUpdate:      bind(sessionUpdate),
		v1.MethodSessionClose:       bind(sessionClose),
		v1.MethodSessionOpen:        bind(sessionOpen),
		v1.MethodSessionDelete:      bind(sessionDelete),
		v1.MethodSessionFork:        bind(sessionFork),
		v1.MethodSessionCompact:     bind(sessionCompact),
		v1.MethodSessionUndoCompact: bind(sessionUndoCompact),
		v1.MethodSessionContext:     bind(sessionContext),
		v1.MethodSessionSubscribe:   bind(sessionSubscribe),
		v1.MethodSessionUnsubscribe: bind(sessionUnsubscribe),
		v1.MethodSessionLog:         bind(sessionLog),
		v1.MethodMessageSend:        bind(messageSend),
		v1.MethodMessageList:        bind(messageList),
		v1.MethodMessageGet:         bind(messageGet),
		v1.MethodTurnStop:           bind(turnStop),
		v1.MethodTurnGet:            bind(turnGet),
		v1.MethodTurnList:           bind(turnList),
		v1.MethodToolSubmitResult:   bind(toolSubmitResult),
		v1.MethodToolClaim:          bind(toolClaim),
		v1.MethodMemoryList:         bind(memoryList),
		v1.MethodMemoryCreate:       bind(memoryCreate),
		v1.MethodMemoryUpdate:       bind(memoryUpdate),
		v1.MethodMemoryDelete:       bind(memoryDelete),
	}
}

// bindAll joins the registry with the handlers; both must name the same methods.
func bindAll(registry *v1.Registry, metrics *metrics) (map[string]*boundMethod, error) {
	handlers := bindings()
	bound := make(map[string]*boundMethod, len(handlers))
	for _, m := range registry.Methods() {
		b, ok := handlers[m.Name]
		if !ok {
			return nil, fmt.Errorf("server: method %s has no handler", m.Name)
		}
		if b.params != m.Params {
			return nil, fmt.Errorf("server: method %s takes %s, its handler %s", m.Name, m.Params, b.params)
		}
		bound[m.Name] = &boundMethod{Method: m, metrics: metrics.of(m.Name), invoke: b.invoke}
	}
	if len(bound) != len(handlers) {
		return nil, errors.New("server: a handler is bound to a method that the registry does not have")
	}
	return bound, nil
}

// permit decides whether a connection may call a method at all.
func (c *connection) permit(m *boundMethod) error {
	p := c.principal
	if !p.scope.Allows(m.Scope) {
		return kindError(v1.KindForbidden, fmt.Sprintf("a ticket of scope %s may not call %s", p.scope, m.Name), 0)
	}
	if len(p.sessions) > 0 && !m.SessionParam && m.Scope > v1.ScopeNone {
		return kindError(v1.KindForbidden, fmt.Sprintf("a ticket for certain sessions may not call %s", m.Name), 0)
	}
	if wait := c.server.limiter.take(p.owner); wait > 0 {
		return kindError(v1.KindRateLimited, "", wait)
	}
	return nil
}

// finishResult encodes what a handler returned.
func (s *Server) finishResult(v any) (any, error) {
	switch v := v.(type) {
	case rawJSON:
		return v, nil
	case rpc.Deferred:
		raw, err := s.registry.Append(nil, v.Result)
		return rpc.Deferred{Result: rawJSON(raw), Queued: v.Queued}, err
	default:
		raw, err := s.registry.Append(nil, v)
		return rawJSON(raw), err
	}
}
