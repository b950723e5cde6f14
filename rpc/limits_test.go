package rpc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"sessiond/rpc"
)

// noop answers every method with null.
func noop(context.Context, *rpc.Request) (any, error) { return nil, nil }

func TestBrokenRulesCloseTheConnection(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"noop"}`
	tests := []struct {
		name string
		send func(*client)
		want int
	}{
		{"binary frame", func(c *client) {
			_ = c.WriteMessage(websocket.BinaryMessage, []byte(call))
		}, rpc.CloseUnsupported},
		{"bad UTF-8 in a string", func(c *client) {
			c.send(`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"noop"}`)
		}, rpc.CloseBadUTF8},
		{"bad UTF-8 outside JSON", func(c *client) { c.send("\xc3") }, rpc.CloseBadUTF8},
		{"surrogate encoded as UTF-8", func(c *client) { c.send("\"\xed\xa0\x80\"") }, rpc.CloseBadUTF8},
		{"message over the limit", func(c *client) {
			c.send(`"` + strings.Repeat("x", 1000) + `"`)
		}, rpc.CloseTooBig},
		{"message over the limit with more behind it", func(c *client) {
			for range 200 { // unread bytes must not reset the socket before the close frame is read
				c.send(strings.Repeat("x", 5000))
			}
		}, rpc.CloseTooBig},
		{"fragments over the limit", func(c *client) {
			w, _ := c.NextWriter(websocket.TextMessage)
			for range 20 { // each is a fragment of its own
				_, _ = w.Write([]byte(strings.Repeat(" ", 4096)))
			}
			_ = w.Close()
		}, rpc.CloseTooBig},
		{"length with the highest bit set", func(c *client) {
			frame := []byte{0x81, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
			binary.BigEndian.PutUint64(frame[2:], 1<<63)
			_, _ = c.NetConn().Write(frame)
		}, rpc.CloseTooBig},
		{"frame that is not masked", func(c *client) {
			_, _ = c.NetConn().Write(append([]byte{0x81, byte(len(call))}, call...))
		}, rpc.CloseProtocolError},
		{"compressed frame", func(c *client) {
			_, _ = c.NetConn().Write([]byte{0xc1, 0x80, 0, 0, 0, 0})
		}, rpc.CloseProtocolError},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, rpc.Options{MaxFrameBytes: 1000}, all(handler{handle: noop}))
			c := s.dial(t)
			c.send(call)
			c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
			test.send(c)
			if frames := c.expectClose(test.want); len(frames) > 0 {
				t.Errorf("frames before the close: %q", frames)
			}
		})
	}
}

// TestTheReasonNamesTheLimit: who sent too much is told how much would do.
func TestTheReasonNamesTheLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{MaxFrameBytes: 8 << 20}, all(handler{handle: noop}))
	c := s.dial(t)
	c.send(strings.Repeat("x", 8<<20+1))
	_, _, err := c.ReadMessage()
	closed, ok := errors.AsType[*websocket.CloseError](err)
	if !ok || closed.Code != rpc.CloseTooBig || !strings.Contains(closed.Text, "8388608 bytes") {
		t.Errorf("the connection ended with %v", err)
	}
}

func TestMessageOfTheLimitIsRead(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{MaxFrameBytes: 1000}, all(handler{handle: noop}))
	c := s.dial(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"noop"}`
	c.send(call + strings.Repeat(" ", 1000-len(call)))
	c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
}

func TestMalformedMessagesAreCounted(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{}, all(handler{handle: noop}))
	kinds := []struct{ message, answer string }{
		{`{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{`1`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{`[1]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}]`},
	}
	c := s.dial(t)
	for i := range 20 {
		if i == 19 { // good ones do not count and do not reset the count
			c.call("1", "noop")
			c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
		}
		kind := kinds[i%len(kinds)]
		c.send(kind.message)
		c.expect(kind.answer)
	}
	c.expectClose(rpc.ClosePolicy)
}

func TestLimitsOfAMessage(t *testing.T) {
	t.Parallel()
	request := func(id, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"noop","params":%s}`, id, params)
	}
	batch := func(n int, last string) string {
		var b strings.Builder
		b.WriteString("[")
		for i := range n - 1 {
			b.WriteString(request(fmt.Sprint(i), "[]") + ",")
		}
		b.WriteString(request(fmt.Sprint(n), "[]") + last)
		return b.String()
	}
	arrays := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	id := func(n int) string { return `"` + strings.Repeat("i", n-2) + `"` }
	digits := func(n int) string { return strings.Repeat("9", n) }
	tests := []struct {
		name, message string
		want          int    // error code, 0: a result
		reason        string // in the error's data
	}{
		{"deep arrays", request("1", arrays(63)), 0, ""},
		{"too deep arrays", request("1", arrays(64)), rpc.CodeInvalidRequest, "nested deeper than 64"},
		{"deep objects", request("1", objects(63)), 0, ""},
		{"too deep objects", request("1", objects(64)), rpc.CodeInvalidRequest, "nested deeper than 64"},
		{"much too deep", arrays(100_000), rpc.CodeInvalidRequest, "nested deeper than 64"},
		{"too deep and not JSON", strings.Repeat("[", 100_000), rpc.CodeInvalidRequest, "nested deeper than 64"},
		{"too deep in a batch", "[" + request("1", arrays(64)) + "]", rpc.CodeInvalidRequest, "nested deeper than 64"},
		{"deep in a batch", "[" + request("1", arrays(63)) + "]", 0, ""},
		{"long id", request(id(256), "[]"), 0, ""},
		{"too long id", request(id(257), "[]"), rpc.CodeInvalidRequest, "id is longer than 256 bytes"},
		{"long number", request(digits(256), "[]"), 0, ""},
		{"too long number", request(digits(257), "[]"), rpc.CodeInvalidRequest, "id is longer than 256 bytes"},
		{"batch", batch(50, "]"), 0, ""},
		{"too large batch", batch(51, "]"), rpc.CodeInvalidRequest, "more than 50 messages in a batch"},
		{"too large batch that is not JSON", batch(51, "}"), rpc.CodeParseError, ""},
		{"too large batch with trailing text", batch(51, "] x"), rpc.CodeParseError, ""},
	}
	s := serve(t, rpc.Options{}, all(handler{handle: noop}))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := s.dial(t)
			c.send(test.message)
			answer := c.receive()
			if test.want == 0 {
				if n := strings.Count(answer, `"result":null`); n == 0 || strings.Contains(answer, "error") {
					t.Errorf("reply %s, want results", answer)
				}
			} else {
				r := parse(t, answer)
				if r.Error == nil || r.Error.Code != test.want || string(r.ID) != "null" {
					t.Fatalf("reply %s, want error %d with id null", answer, test.want)
				}
				if got, _ := r.Error.Data["reason"].(string); got != test.reason {
					t.Errorf("reason %q, want %q", got, test.reason)
				}
			}
			c.call("2", "noop")
			c.expect(`{"jsonrpc":"2.0","id":2,"result":null}`)
		})
	}
}
