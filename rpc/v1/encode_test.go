package v1

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppend(t *testing.T) {
	r := newTestRegistry(t)
	at := time.Date(2026, 2, 3, 4, 5, 6, 7000, time.FixedZone("CET", 3600))
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"raw JSON keeps its bytes", LogResult{Entries: []json.RawMessage{[]byte(`{ "a" : 1.0, "<" : "\u003c" }`)}, LogID: "l"}, `{"entries":[{ "a" : 1.0, "<" : "\u003c" }],"head_seq":0,"log_id":"l","more":false}`},
		{"nil lists and metadata", Session{Metadata: nil}, `{"id":"","log_id":"","title":"","status":"","queued":0,"model":"","tools":[],"todo_list":[],"settings":{},"metadata":{},"version":0,"head_seq":0,"generation":0,"reactive_level":0,"created_at":"0001-01-01T00:00:00Z","updated_at":"0001-01-01T00:00:00Z","pending_tool_calls":[],"usage":{"input":0,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"reasoning":0,"cost_usd":0},"cache":{"hit_rate":0,"chat_hit_rate":0,"ideal_hit_rate":0,"uncached_usd":0,"saved_usd":0},"current_context_tokens":0,"compression_threshold":0,"compression_progress":0,"estimated_next_round_tokens":0,"rounds_until_compression":0,"estimated":false}`},
		{"a compaction that was taken on", CompactionResult{Queued: true}, `{"queued":true}`},
		{"zeros that are known", CompactionResult{Outcome: CompactionNoop, Generation: new(int64(0)), InstructionUsed: new(false)}, `{"outcome":"noop","generation":0,"instruction_used":false}`},
		{"an empty view is not absent", SessionContextResult{Parts: []ContextPart{{Name: "x"}}, View: []json.RawMessage{}}, `{"model":"","current_context_tokens":0,"compression_threshold":0,"compression_progress":0,"estimated_next_round_tokens":0,"rounds_until_compression":0,"estimated":false,"context_tokens":0,"judged":0,"parts":[{"name":"x","tokens":0}],"context_tokens_limit":0,"input_limit":0,"max_output_tokens":0,"buffer_tokens":0,"overhead":0,"threshold":0,"headroom":0,"landing":0,"high":0,"edge":0,"summary_cap":0,"ledger_cap":0,"share":0,"pinned_tokens":0,"level":0,"generation":0,"boundary_seq":0,"cleared":[],"ratio":0,"encoding":"","view":[]}`},
		{"times are UTC", ToolClaimResult{ClaimToken: "t", LeaseUntil: at}, `{"claim_token":"t","lease_until":"2026-02-03T03:05:06.000007Z"}`},
		{"text", TurnError{Kind: TurnInternal, Message: "<&>\u2028 \"\\\n\r\t\x00é\xff"}, `{"kind":"internal","message":"<&>` + "\u2028" + ` \"\\\n\r\t\u0000é` + "\uFFFD" + `"}`},
		{"money", Usage{CostUSD: 0.0000125}, `{"input":0,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"reasoning":0,"cost_usd":0.0000125}`},
		{"pointers", &TurnStopResult{Stopped: true}, `{"stopped":true}`},
		{"embedded members", SessionCloseParams{OfSession{"s"}, WithKey{"k"}}, `{"session_id":"s","key":"k"}`},
		{"an empty list is not absent", SessionUpdateParams{Tools: []Tool{}, Title: new("")}, `{"session_id":"","title":"","tools":[]}`},
		{"false where absent means true", SubscribeParams{}, `{"session_id":"","deltas":false}`},
		{"content that was built", MessageSendParams{Content: Content{Blocks: []ContentBlock{{Type: BlockText, Text: "<"}, {Type: BlockImage, MimeType: "image/png", Data: "AAAA"}}}}, `{"session_id":"","content":[{"type":"text","text":"<"},{"type":"image","mime_type":"image/png","data":"AAAA"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Append([]byte("before "), tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("before "+tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	r := newTestRegistry(t)
	for want, v := range map[string]any{
		"is not part of the contract": struct{}{},
		"is nil":                      (*Session)(nil),
		"cost_usd: NaN":               Usage{CostUSD: math.NaN()},
		"message: raw JSON":           MessageGetResult{},
		"entries: [1]: raw JSON":      LogResult{Entries: []json.RawMessage{[]byte("{}"), nil}},
	} {
		got, err := r.Append([]byte("before"), v)
		if err == nil || !strings.Contains(err.Error(), want) || string(got) != "before" {
			t.Errorf("%T: got %q and error %v, want one with %q", v, got, err, want)
		}
	}
}

// TestContentForGoClients: what a Go client builds and marshals is what the server
// decodes.
func TestContentForGoClients(t *testing.T) {
	r := newTestRegistry(t)
	raw, err := json.Marshal(MessageSendParams{OfSession: OfSession{"0197f0d0-0000-7000-8000-000000000001"}, Content: TextContent("a\u2028<b>")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode[MessageSendParams](r, raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(TextContent("a\u2028<b>").Blocks, p.Content.Blocks); diff != "" {
		t.Error(diff)
	}
}
