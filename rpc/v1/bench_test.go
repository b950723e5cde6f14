package v1

import (
	"encoding/json"
	"strings"
	"testing"

	"sessiond/rpc/v1/v1test"
)

func BenchmarkDecode(b *testing.B) {
	r := newTestRegistry(b)
	for _, bm := range []struct {
		name   string
		decode func(json.RawMessage) error
		raw    string
	}{
		{"get", func(raw json.RawMessage) error { _, err := Decode[SessionGetParams](r, raw); return err }, v1test.Examples()[MethodSessionGet]},
		{"send", func(raw json.RawMessage) error { _, err := Decode[MessageSendParams](r, raw); return err }, v1test.Examples()[MethodMessageSend]},
		{"create", func(raw json.RawMessage) error { _, err := Decode[SessionCreateParams](r, raw); return err }, v1test.Examples()[MethodSessionCreate]},
		{"result of 4 MiB", func(raw json.RawMessage) error { _, err := Decode[ToolSubmitResultParams](r, raw); return err }, largeResult()},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := bm.decode(json.RawMessage(bm.raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	for name, raw := range map[string]string{"send": v1test.Examples()[MethodMessageSend], "result of 4 MiB": largeResult()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Fingerprint(json.RawMessage(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func largeResult() string {
	return `{"session_id":"0197f0d0-0000-7000-8000-000000000001","tool_use_id":"call_1","content":"` +
		strings.Repeat(`a line of é text\n`, 4<<20/18) + `"}`
}
