package rpc

import (
	"time"

	"go.uber.org/zap"
)

// Close codes. After 4000 to 4499 a client may reconnect, after 4500 to 4999 it
// must not.
const (
	CloseNormal         = 1000
	CloseGoingAway      = 1001
	CloseProtocolError  = 1002
	CloseUnsupported    = 1003 // a binary frame
	CloseBadUTF8        = 1007
	ClosePolicy         = 1008 // too many malformed messages
	CloseTooBig         = 1009 // a message over Options.MaxFrameBytes
	CloseInternal       = 1011
	CloseRestart        = 1012
	CloseSlowConsumer   = 4008 // what was sent found the outbox full
	CloseNoPong         = 4009
	CloseExpired        = 4010 // credentials expired
	CloseRevoked        = 4500 // credentials revoked
	CloseProtocolAbuse  = 4501
	closeAbnormal       = 1006 // in logs only: the socket ended without a close frame
	maxCloseReasonBytes = 123
)

// Options are the limits of every connection of an [Endpoint]. A zero field
// stands for its value in [DefaultOptions].
type Options struct {
	MaxFrameBytes int // one incoming message, its fragments together; over it: CloseTooBig
	MaxBatch      int // messages in a batch; over it the batch is an invalid request
	MaxInFlight   int // requests of a connection that run or whose reply waits for room; it bounds the memory that waiting replies hold
	MaxDepth      int // nested arrays and objects in a message, the message itself included
	MaxIDBytes    int // an id as written, quotes included
	MaxMalformed  int // malformed messages in a connection's life; the last one is answered, then ClosePolicy

	// The outbox of a connection holds this much of what is sent, and as much again of
	// replies; the frame being written is not counted.
	OutboxMessages int // frames
	OutboxBytes    int // their bytes; a single frame may be larger

	PingInterval time.Duration // between two pings
	PongTimeout  time.Duration // without a pong, or progress of a large message: CloseNoPong
	WriteTimeout time.Duration // for one frame; when closing, for all that is left
	CloseTimeout time.Duration // for the peer's answer to the close frame
	ReadPause    time.Duration // longest wait of the reader for an outbox that is half full, or too full for a reply

	Log *zap.Logger // nil: no log
}

// DefaultOptions returns the limits of the protocol.
func DefaultOptions() Options {
	return Options{
		MaxFrameBytes:  8 << 20,
		MaxBatch:       50,
		MaxInFlight:    64,
		MaxDepth:       64,
		MaxIDBytes:     256,
		MaxMalformed:   20,
		OutboxMessages: 128,
		OutboxBytes:    1 << 20,
		PingInterval:   20 * time.Second,
		PongTimeout:    45 * time.Second,
		WriteTimeout:   10 * time.Second,
		CloseTimeout:   2 * time.Second,
		ReadPause:      time.Second,
		Log:            zap.NewNop(),
	}
}

// withDefaults fills the zero fields of o.
func (o Options) withDefaults() Options {
	d := DefaultOptions()
	fill(&o.MaxFrameBytes, d.MaxFrameBytes)
	fill(&o.MaxBatch, d.MaxBatch)
	fill(&o.MaxInFlight, d.MaxInFlight)
	fill(&o.MaxDepth, d.MaxDepth)
	fill(&o.MaxIDBytes, d.MaxIDBytes)
	fill(&o.MaxMalformed, d.MaxMalformed)
	fill(&o.OutboxMessages, d.OutboxMessages)
	fill(&o.OutboxBytes, d.OutboxBytes)
	fill(&o.PingInterval, d.PingInterval)
	fill(&o.PongTimeout, d.PongTimeout)
	fill(&o.WriteTimeout, d.WriteTimeout)
	fill(&o.CloseTimeout, d.CloseTimeout)
	fill(&o.ReadPause, d.ReadPause)
	fill(&o.Log, d.Log)
	return o
}

// fill sets a zero field to its default.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
