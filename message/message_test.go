package message_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/message"
)

func TestAppendDecodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyMessage().Draw(t, "message")
		raw := message.Append(nil, want, message.Form{})
		if !json.Valid(raw) {
			t.Fatalf("not JSON: %s", raw)
		}
		got, err := message.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("changed on the way (-want +got):\n%s", diff)
		}
	})
}

// Tool input and opaque thinking are stored and resent with the bytes that came:
// white space, number spelling, key order and escapes included.
func TestRawBytesSurvive(t *testing.T) {
	input := "{ \"b\" : 1.0,\n\"a\":1e2, \"s\":\"\\u0041<&>\", \"b\": 2 }"
	raw := message.Append(nil, &message.Message{Role: message.RoleAssistant, Content: []message.Block{
		message.Thinking{Provider: "p", Text: "x", Raw: []byte("{ \"signature\" : \"q\" }")},
		message.ToolUse{ID: "a", Name: "n", Input: []byte(input)},
	}}, message.Form{})
	got, err := message.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if in := string(got.Content[1].(message.ToolUse).Input); in != input {
		t.Errorf("input = %s, want %s", in, input)
	}
	if th := string(got.Content[0].(message.Thinking).Raw); th != "{ \"signature\" : \"q\" }" {
		t.Errorf("thinking = %s", th)
	}
}

func TestAppendString(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "abc", `"abc"`},
		{"nul", "a\x00b", `"a\u0000b"`},
		{"literal backslash u0000", `a\u0000b`, `"a\\u0000b"`},
		{"html", "<&>", `"<&>"`},
		{"control", "\x1f\n\t\r\"\\", `"\u001f\n\t\r\"\\"`},
		{"emoji", "👍🏽", `"👍🏽"`},
		{"bad utf-8", "a\xff\xfeb", `"a` + "\uFFFD\uFFFD" + `b"`},
		{"replacement character itself", "\uFFFD", "\"\uFFFD\""},
		{"line separator", "\u2028", "\"\u2028\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(message.AppendString(nil, tt.in))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			var back string
			if err := json.Unmarshal([]byte(got), &back); err != nil {
				t.Fatal(err)
			}
			if want := strings.ToValidUTF8(tt.in, "\uFFFD"); tt.name != "bad utf-8" && back != want {
				t.Errorf("read back %q, want %q", back, want)
			}
		})
	}
}

func TestOmit(t *testing.T) {
	big := strings.Repeat("x", 101)
	content := []message.Block{
		message.Text{Text: big},
		message.Text{Text: big[:100]},
		message.Image{MimeType: "image/png", Data: big},
		message.ToolUse{ID: "a", Name: "n", Input: []byte(`{"v":"` + big + `"}`)},
		message.ToolResult{ToolUseID: "a", Content: []message.Block{message.Text{Text: big}, message.Text{Text: "s"}}},
	}
	raw := message.AppendBlocks(nil, content, message.Form{OmitOverBytes: 100})
	var got []map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true, true} {
		if o, _ := got[i]["omitted"].(bool); o != want {
			t.Errorf("block %d: omitted %v, want %v", i, o, want)
		}
	}
	if got[0]["bytes"] != 101.0 || len(got[0]["sha256"].(string)) != 64 {
		t.Errorf("size and hash: %v", got[0])
	}
	inner := got[4]["content"].([]any)
	if inner[0].(map[string]any)["omitted"] != true || inner[1].(map[string]any)["text"] != "s" {
		t.Errorf("tool result: %v", inner)
	}
}

func TestCheck(t *testing.T) {
	text, use, res := message.Text{Text: "t"}, message.ToolUse{ID: "a"}, message.ToolResult{ToolUseID: "a"}
	tests := []struct {
		name    string
		role    message.Role
		content []message.Block
		want    string
	}{
		{"user text", message.RoleUser, []message.Block{text}, ""},
		{"results then text", message.RoleUser, []message.Block{res, text}, ""},
		{"text then result", message.RoleUser, []message.Block{text, res}, "content[1]: a tool result stands after"},
		{"assistant calls", message.RoleAssistant, []message.Block{text, use}, ""},
		{"user calls", message.RoleUser, []message.Block{use}, "content[0]: message.ToolUse can't be spoken by the user"},
		{"assistant image", message.RoleAssistant, []message.Block{message.Image{}}, "content[0]: message.Image"},
		{"twice", message.RoleAssistant, []message.Block{use, use}, `content[1]: tool_use_id "a" appears twice`},
		{"role", "system", nil, `role "system"`},
		{"call in a result", message.RoleUser, []message.Block{message.ToolResult{ToolUseID: "a", Content: []message.Block{use}}}, "holds text and images only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := (&message.Message{Role: tt.role, Content: tt.content}).Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPortable(t *testing.T) {
	for id, want := range map[message.ToolUseID]bool{
		"toolu_01-A": true, "": false, "functions.x:0": false, "call_a|fc_b": false, "é": false,
		message.ToolUseID(strings.Repeat("a", 64)): true, message.ToolUseID(strings.Repeat("a", 65)): false,
		message.NewToolUseID(): true,
	} {
		if got := id.Portable(); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"x","role":"user","content":[{"type":"text","text":"a"},{"type":"tool_use","input":{ }}]}`))
	f.Add([]byte(`{"content":[{"type":"tool_result","content":[{"type":"image"}],"ref":3}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := message.Decode(raw)
		if err != nil {
			return
		}
		again, err := message.Decode(message.Append(nil, m, message.Form{}))
		if err != nil {
			return // a member that was left out (an absent input) has no JSON
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func anyMessage() *rapid.Generator[*message.Message] {
	return rapid.Custom(func(t *rapid.T) *message.Message {
		m := &message.Message{
			ID: message.NewID(), Seq: rapid.Int64Min(1).Draw(t, "seq"), TurnID: message.NewTurnID(),
			Role:      rapid.SampledFrom([]message.Role{message.RoleUser, message.RoleAssistant}).Draw(t, "role"),
			CreatedAt: time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "at")).UTC(),
		}
		if rapid.Bool().Draw(t, "has usage") {
			m.Usage = &message.Usage{Input: 3, CostUSD: 0.25}
		}
		m.Content = rapid.SliceOfN(anyBlock(true), 1, 5).Draw(t, "content")
		return m
	})
}

func anyBlock(results bool) *rapid.Generator[message.Block] {
	return rapid.Custom(func(t *rapid.T) message.Block {
		kinds := 4
		if results {
			kinds = 5
		}
		text := rapid.String().Draw(t, "text")
		raw := []byte(rapid.SampledFrom([]string{`{}`, "{ \"a\" : 1.00 }", `{"k":["\u0000",null]}`}).Draw(t, "raw"))
		switch rapid.IntRange(1, kinds).Draw(t, "kind") {
		case 1:
			return message.Text{Text: text}
		case 2:
			return message.Image{MimeType: "image/png", Data: "AAAA"}
		case 3:
			return message.Thinking{Provider: "p", Text: text, Raw: raw}
		case 4:
			return message.ToolUse{ID: "x", Name: text, Input: raw}
		default:
			return message.ToolResult{ToolUseID: "x", IsError: true, Content: rapid.SliceOfN(anyBlock(false), 1, 3).Draw(t, "in")}
		}
	})
}
