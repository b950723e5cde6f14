package v1

import (
	"encoding/json"
	"strings"
	"testing"
)

func BenchmarkDecode(b *testing.B) {
	r := newTestRegistry(b)
	for _, bm := range []struct {
		name   string
		decode func(json.RawMessage) error
		raw    string
	}{
		{"get", func(raw json.RawMessage) error { _, err := Decode[SessionGetParams](r, raw); return err }, examples()[MethodSessionGet]},
		{"send", func(raw json.RawMessage) error { _, err := Decode[MessageSendParams](r, raw); return err }, examples()[MethodMessageSend]},
		{"create", func(raw json.RawMessage) error { _, err := Decode[SessionCreateParams](r, raw); return err }, examples()[MethodSessionCreate]},
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
	for name, raw := range map[string]string{"send": examples()[MethodMessageSend], "result of 4 MiB": largeResult()} {
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
