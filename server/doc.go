// Package server is the HTTP edge: it upgrades connections, decides who may do what,
// translates calls into commands of package session and events into frames, and
// serves health, metrics, tickets and the page.
//
// A call's handler decodes, checks, translates, calls and returns; none waits for a
// model. Calls of one connection run concurrently. The registry of rpc/v1 drives
// decoding, scopes and the published document; New fails if a method has no handler.
//
// Who may connect is decided once, at the upgrade: without configured tokens everybody
// who reaches the port is the owner "local" (which is why cmd refuses to bind such a
// server to a public address); with them a bearer token or a one-time ticket names the
// owner. Every call then acts on that owner's sessions only.
//
// Events are pushed into a connection's bounded outbox and never wait for it; a client
// that is too slow is disconnected and resumes by the seq it has.
package server
