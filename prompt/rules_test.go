package prompt_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
)

func user(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleUser, Content: blocks}
}

func assistant(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: blocks}
}

func say(text string) message.Text { return message.Text{Text: text} }

func use(id message.ToolUseID) message.ToolUse {
	return message.ToolUse{ID: id, Name: "read", Input: []byte(`{"p": 1.0}`)}
}

func result(id message.ToolUseID, content ...message.Block) message.ToolResult {
	return message.ToolResult{ToolUseID: id, Content: content}
}

func missing(id message.ToolUseID) message.ToolResult {
	return message.ToolResult{ToolUseID: id, IsError: true, Content: []message.Block{say("No result: the call was not completed.")}}
}

func think(raw string) message.Thinking {
	t := message.Thinking{Provider: "p", Text: "hm"}
	if raw != "" {
		t.Raw = []byte(raw)
	}
	return t
}

func readTool() llm.Tool {
	return llm.Tool{Name: "read", InputSchema: []byte(`{"type":"object"}`)}
}

func picture(tb testing.TB, kind string, width, height int) message.Image {
	tb.Helper()
	var b bytes.Buffer
	var err error
	img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Gray{}})
	switch kind {
	case "png":
		err = png.Encode(&b, img)
	case "gif":
		err = gif.Encode(&b, img, nil)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return message.Image{MimeType: "image/" + kind, Data: base64.StdEncoding.EncodeToString(b.Bytes())}
}

const (
	rewrittenLong = message.ToolUseID("call_4cc156fa3ee481a652ffcbcf")
)

// One row for each rule: what is wrong, what becomes of it, how it is reported.
func TestRules(t *testing.T) {
	img := picture(t, "png", 8, 8)
	tests := []struct {
		name    string
		in      []message.Message
		want    []message.Message
		repairs []prompt.Repair
	}{
		{
			"no messages", nil,
			[]message.Message{user(say("(empty message)"))},
			[]prompt.Repair{{"1.4", "messages", 1}},
		},
		{
			"unknown roles",
			[]message.Message{{Role: "system", Content: []message.Block{say("x")}}, user(say("a"))},
			[]message.Message{user(say("a"))},
			[]prompt.Repair{{"1.5", "messages[0]", 1}},
		},
		{
			"blocks of the other role",
			[]message.Message{
				user(say("a"), think(""), use("x")),
				assistant(say("b"), img, result("x")), user(say("c")),
			},
			[]message.Message{user(say("a")), assistant(say("b")), user(say("c"))},
			[]prompt.Repair{
				{"1.5", "messages[0].content[1]", 1},
				{"1.5", "messages[0].content[2]", 1},
				{"1.5", "messages[1].content[1]", 1},
				{"1.5", "messages[1].content[2]", 1},
			},
		},
		{
			"assistant first",
			[]message.Message{assistant(say("a")), user(say("b"))},
			[]message.Message{user(say("(earlier messages are not shown)")), assistant(say("a")), user(say("b"))},
			[]prompt.Repair{{"1.6", "messages[0]", 1}},
		},
		{
			"empty messages",
			[]message.Message{user(say("a")), assistant(), user()},
			[]message.Message{user(say("a")), user(say("(empty message)"))},
			[]prompt.Repair{{"1.7", "messages[1]", 1}, {"1.7", "messages[2]", 1}},
		},
		{
			"no block at all",
			[]message.Message{user(nil, say("a"))},
			[]message.Message{user(say("a"))},
			[]prompt.Repair{{"1.7", "messages[0].content[0]", 1}},
		},
		{
			"blank texts",
			[]message.Message{user(say(""), say("a"), say(" \n\u00a0\u2003\x1f")), assistant(say("\t")), user(say("\x00"))},
			[]message.Message{user(say("a")), user(say("\x00"))},
			[]prompt.Repair{
				{"1.8", "messages[0].content[0]", 1},
				{"1.8", "messages[0].content[2]", 1},
				{"1.8", "messages[1].content[0]", 1},
				{"1.7", "messages[1]", 1},
			},
		},
		{
			"blank texts in results",
			[]message.Message{user(say("a")), assistant(use("x"), use("y")), user(result("x", say("")), result("y", say(" "), say("ok")))},
			[]message.Message{user(say("a")), assistant(use("x"), use("y")), user(result("x", say("(no output)")), result("y", say("ok")))},
			[]prompt.Repair{{"1.8", "messages[2].content[0].content[0]", 1}, {"1.8", "messages[2].content[1].content[0]", 1}},
		},
		{
			"assistant last",
			[]message.Message{user(say("a")), assistant(say("b"))},
			[]message.Message{user(say("a")), assistant(say("b")), user(say("(continue)"))},
			[]prompt.Repair{{"1.9", "messages", 1}},
		},
		{
			"missing results",
			[]message.Message{user(say("a")), assistant(use("x"), use("y"), use("z")), user(result("y", say("ok")), say("b"))},
			[]message.Message{user(say("a")), assistant(use("x"), use("y"), use("z")), user(result("y", say("ok")), missing("x"), missing("z"), say("b"))},
			[]prompt.Repair{{"1.10", "messages[1].content[0]", 1}, {"1.10", "messages[1].content[2]", 1}},
		},
		{
			"missing results at the end",
			[]message.Message{user(say("a")), assistant(say("b"), use("x"))},
			[]message.Message{user(say("a")), assistant(say("b"), use("x")), user(missing("x"))},
			[]prompt.Repair{{"1.10", "messages[1].content[1]", 1}},
		},
		{
			"orphan results",
			[]message.Message{user(result("x", say("?")), say("a")), assistant(say("b")), user(result("x", say("?")))},
			[]message.Message{user(say("a")), assistant(say("b")), user(say("(empty message)"))},
			[]prompt.Repair{{"1.11", "messages[0].content[0]", 1}, {"1.11", "messages[2].content[0]", 1}},
		},
		{
			"a result after the next answer",
			[]message.Message{user(say("a")), assistant(use("x")), user(say("b")), assistant(say("c")), user(result("x", say("late")), say("d"))},
			[]message.Message{user(say("a")), assistant(use("x")), user(missing("x"), say("b")), assistant(say("c")), user(say("d"))},
			[]prompt.Repair{{"1.10", "messages[1].content[0]", 1}, {"1.11", "messages[4].content[0]", 1}},
		},
		{
			"an empty answer is a border",
			[]message.Message{user(say("a")), assistant(use("x")), user(say("b")), assistant(say("")), user(result("x", say("late")))},
			[]message.Message{user(say("a")), assistant(use("x")), user(missing("x"), say("b")), user(say("(empty message)"))},
			[]prompt.Repair{
				{"1.8", "messages[3].content[0]", 1},
				{"1.7", "messages[3]", 1},
				{"1.10", "messages[1].content[0]", 1},
				{"1.11", "messages[4].content[0]", 1},
			},
		},
		{
			"results after words",
			[]message.Message{user(say("a")), assistant(use("x"), use("y"), use("z")), user(result("y"), say("b"), result("x")), user(result("z"))},
			[]message.Message{user(say("a")), assistant(use("x"), use("y"), use("z")), user(result("y"), result("x"), result("z"), say("b"))},
			[]prompt.Repair{{"1.12", "messages[2].content[2]", 1}, {"1.12", "messages[3].content[0]", 1}},
		},
		{
			"ids twice in an answer",
			[]message.Message{user(say("a")), assistant(use("x"), use("x")), user(result("x", say("1")), result("x", say("2")), result("x", say("3")))},
			[]message.Message{
				user(say("a")), assistant(use("x"), use("call_afe44facc2b888475e13b355")),
				user(result("x", say("1")), result("call_afe44facc2b888475e13b355", say("2"))),
			},
			[]prompt.Repair{{"1.14", "messages[1].content[1]", 1}, {"1.14", "messages[2].content[2]", 1}},
		},
		{
			"ids again in a later answer",
			[]message.Message{user(say("a")), assistant(use("x")), user(result("x")), assistant(use("x")), user(result("x"))},
			[]message.Message{
				user(say("a")), assistant(use("x")), user(result("x")),
				assistant(use("call_afe44facc2b888475e13b355")), user(result("call_afe44facc2b888475e13b355")),
			},
			[]prompt.Repair{{"1.14", "messages[3].content[0]", 1}},
		},
		{
			"two results for one call",
			[]message.Message{user(say("a")), assistant(use("x")), user(result("x", say("1")), result("x", say("2")))},
			[]message.Message{user(say("a")), assistant(use("x")), user(result("x", say("1")))},
			[]prompt.Repair{{"1.14", "messages[2].content[1]", 1}},
		},
		{
			"foreign ids",
			[]message.Message{user(say("a")), assistant(use("functions.x:0"), use("")), user(result(""), result("functions.x:0"))},
			[]message.Message{
				user(say("a")), assistant(use("call_87023267a7cbdbb27fc02f51"), use("call_1ff70ec879acb37790026a01")),
				user(result("call_1ff70ec879acb37790026a01"), result("call_87023267a7cbdbb27fc02f51")),
			},
			[]prompt.Repair{{"1.15", "messages[1].content[0]", 1}, {"1.15", "messages[1].content[1]", 1}},
		},
		{
			"ids too long for Chat Completions",
			[]message.Message{user(say("a")), assistant(use(message.ToolUseID(strings.Repeat("x", 41)))), user(result(message.ToolUseID(strings.Repeat("x", 41))))},
			[]message.Message{user(say("a")), assistant(use(rewrittenLong)), user(result(rewrittenLong))},
			[]prompt.Repair{{"1.15", "messages[1].content[0]", 1}},
		},
		{
			"inputs that are no objects",
			[]message.Message{
				user(say("a")),
				assistant(message.ToolUse{ID: "a", Name: "read", Input: []byte(`[1]`)}, message.ToolUse{ID: "b", Name: "read"},
					message.ToolUse{ID: "c", Name: "read", Input: []byte(`{"a":`)}, message.ToolUse{ID: "d", Name: "read", Input: []byte("{ \"\xff\":\"\\ud800x\\ud83d\\ude00\\\\ud800\" }")}),
				user(result("a"), result("b"), result("c"), result("d")),
			},
			[]message.Message{
				user(say("a")),
				assistant(message.ToolUse{ID: "a", Name: "read", Input: []byte(`{}`)}, message.ToolUse{ID: "b", Name: "read", Input: []byte(`{}`)},
					message.ToolUse{ID: "c", Name: "read", Input: []byte(`{}`)}, message.ToolUse{ID: "d", Name: "read", Input: []byte("{ \"\uFFFD\":\"\\ufffdx\\ud83d\\ude00\\\\ud800\" }")}),
				user(result("a"), result("b"), result("c"), result("d")),
			},
			[]prompt.Repair{
				{"1.16", "messages[1].content[0]", 1},
				{"1.16", "messages[1].content[1]", 1},
				{"1.16", "messages[1].content[2]", 1},
				{"1.16", "messages[1].content[3]", 1},
			},
		},
		{
			"what no result holds",
			[]message.Message{user(say("a")), assistant(use("x")), user(result("x", think(""), say("ok"), use("y"), nil))},
			[]message.Message{user(say("a")), assistant(use("x")), user(result("x", say("ok")))},
			[]prompt.Repair{
				{"1.16", "messages[2].content[0].content[0]", 1}, {"1.16", "messages[2].content[0].content[2]", 1}, {"1.16", "messages[2].content[0].content[3]", 1},
			},
		},
		{
			"names of called tools",
			[]message.Message{
				user(say("a")), assistant(message.ToolUse{ID: "a", Name: "functions.reäd", Input: []byte("{}")}, message.ToolUse{ID: "b", Input: []byte("{}")},
					message.ToolUse{ID: "c", Name: strings.Repeat("n", 65), Input: []byte("{}")}),
				user(result("a"), result("b"), result("c")),
			},
			[]message.Message{
				user(say("a")), assistant(message.ToolUse{ID: "a", Name: "functions_re_d", Input: []byte("{}")}, message.ToolUse{ID: "b", Name: "unknown", Input: []byte("{}")},
					message.ToolUse{ID: "c", Name: strings.Repeat("n", 64), Input: []byte("{}")}),
				user(result("a"), result("b"), result("c")),
			},
			[]prompt.Repair{{"1.17", "messages[1].content[0]", 1}, {"1.17", "messages[1].content[1]", 1}, {"1.17", "messages[1].content[2]", 1}},
		},
		{
			"thinking of two providers",
			[]message.Message{user(say("a")), assistant(think(`{}`), message.Thinking{Provider: "q", Raw: []byte(`{}`)}, say("b")), user(say("c"))},
			[]message.Message{user(say("a")), assistant(say("b")), user(say("c"))},
			[]prompt.Repair{{"4.5", "messages[1]", 1}},
		},
		{
			"thinking partly lost",
			[]message.Message{user(say("a")), assistant(think(`{}`), think(""), use("x")), user(result("x"))},
			[]message.Message{user(say("a")), assistant(use("x")), user(result("x"))},
			[]prompt.Repair{{"4.5", "messages[1]", 1}},
		},
		{
			"thinking that is no JSON, or nobody can read",
			[]message.Message{user(say("a")), assistant(think(`{`), say("b")), user(say("c")), assistant(think(`"\udc00"`), say("b")), user(say("c"))},
			[]message.Message{user(say("a")), assistant(say("b")), user(say("c")), assistant(say("b")), user(say("c"))},
			[]prompt.Repair{{"4.5", "messages[1]", 1}, {"4.5", "messages[3]", 1}},
		},
		{
			"thinking and nothing after it",
			[]message.Message{user(say("a")), assistant(think(`{}`)), user(say("b")), assistant(say("c"), think(`{}`)), user(say("d"))},
			[]message.Message{user(say("a")), user(say("b")), assistant(say("c")), user(say("d"))},
			[]prompt.Repair{{"4.5", "messages[1]", 1}, {"1.7", "messages[1]", 1}, {"4.5", "messages[3]", 1}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, repairs := prompt.Build(llm.Request{Tools: []llm.Tool{readTool()}, Messages: tt.in})
			if diff := cmp.Diff(tt.want, req.Messages, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.repairs, repairs); diff != "" {
				t.Errorf("repairs (-want +got):\n%s", diff)
			}
			if again := prompt.Check(req); len(again) != 0 {
				t.Errorf("still wrong: %v", again)
			}
		})
	}
}

// What looks odd and is legal stays, down to the very slices.
func TestCleanRequestsStay(t *testing.T) {
	img := picture(t, "png", 8, 8)
	msgs := []message.Message{
		user(say("a\x00"), img), user(say("b")),
		assistant(think(`{"signature":"x"}`), message.Thinking{Provider: "p", Raw: []byte(`{"data":"y"}`)}, say("c"), use("x")),
		assistant(use("y")),
		user(result("y"), result("x", img, say("ok"))), user(say("d")),
		assistant(say("e")), assistant(think(""), say("f")), user(say("g")),
	}
	in := llm.Request{
		Model: "m", System: "s", Tools: []llm.Tool{readTool()}, Messages: msgs, MaxOutputTokens: 7, CacheKey: "k", Thinking: llm.ThinkingHigh,
		CacheMarks: []llm.CacheMark{{Message: llm.CachePreamble, TTL: llm.CacheLong}, {Message: 7, TTL: llm.CacheShort}},
	}
	req, repairs := prompt.Build(in)
	if len(repairs) != 0 {
		t.Errorf("repairs: %v", repairs)
	}
	if diff := cmp.Diff(&in, req); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if &req.Messages[0] != &msgs[0] {
		t.Error("the messages were copied")
	}
}

func TestTools(t *testing.T) {
	anything := []byte(`{"type":"object","properties":{}}`)
	tool := func(name, schema string) llm.Tool {
		return llm.Tool{Name: name, InputSchema: []byte(schema)}
	}
	tests := []struct {
		name    string
		tools   []llm.Tool
		msgs    []message.Message
		want    []llm.Tool
		repairs []prompt.Repair
	}{
		{
			"bad and repeated names",
			[]llm.Tool{tool("a", `{"type":"object"}`), tool("a b", `{"type":"object"}`), tool("a", `{"type":"object"}`), tool(strings.Repeat("x", 65), `{"type":"object"}`)},
			[]message.Message{user(say("a"))},
			[]llm.Tool{tool("a", `{"type":"object"}`)},
			[]prompt.Repair{{"1.17", "tools[1]", 1}, {"1.17", "tools[2]", 1}, {"1.17", "tools[3]", 1}},
		},
		{
			"schemas",
			[]llm.Tool{
				{Name: "a"},
				tool("b", `[]`), tool("c", ` { "properties" : {"x":{}} }`), tool("d", `{"type":["object","null"]}`),
				tool("e", `{"type":"object","title":"\ud800"}`), tool("f", `{}`), tool("g", ` { "type":"object", "minProperties": 1.0 }`),
			},
			[]message.Message{user(say("a"))},
			[]llm.Tool{
				{Name: "a", InputSchema: anything},
				{Name: "b", InputSchema: anything},
				tool("c", `{"type":"object", "properties" : {"x":{}} }`),
				{Name: "d", InputSchema: anything},
				{Name: "e", InputSchema: anything},
				{Name: "f", InputSchema: anything},
				tool("g", ` { "type":"object", "minProperties": 1.0 }`),
			},
			[]prompt.Repair{{"1.17", "tools[0]", 1}, {"1.17", "tools[1]", 1}, {"1.17", "tools[2]", 1}, {"1.17", "tools[3]", 1}, {"1.17", "tools[4]", 1}, {"1.17", "tools[5]", 1}},
		},
		{
			"calls without tools", nil,
			[]message.Message{user(say("a")), assistant(use("x")), user(result("x"))},
			[]llm.Tool{{Name: "read", Description: "No longer available; do not call it.", InputSchema: anything}},
			[]prompt.Repair{{"1.19", "tools", 1}},
		},
		{"no calls, no tools", nil, []message.Message{user(say("a"))}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := slices.Clone(tt.tools)
			req, repairs := prompt.Build(llm.Request{Tools: tt.tools, Messages: tt.msgs})
			if diff := cmp.Diff(tt.want, req.Tools, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.repairs, repairs); diff != "" {
				t.Errorf("repairs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given, tt.tools); diff != "" {
				t.Errorf("the tools given were changed:\n%s", diff)
			}
			if again := prompt.Check(req); len(again) != 0 {
				t.Errorf("still wrong: %v", again)
			}
		})
	}
}

func TestSystem(t *testing.T) {
	req, repairs := prompt.Build(llm.Request{System: " \n", Messages: []message.Message{user(say("a"))}})
	if diff := cmp.Diff([]prompt.Repair{{"1.8", "system", 1}}, repairs); diff != "" || req.System != "" {
		t.Errorf("system %q, repairs %v", req.System, repairs)
	}
}

func TestMarksFollowTheirBlocks(t *testing.T) {
	msgs := []message.Message{
		user(say(""), say("a")),       // → one block
		assistant(say("")),            // → gone
		user(say("b"), say("c")),      // stays
		assistant(use("x")),           // stays
		user(say("d"), result("x")),   // → turned round
		assistant(say("e"), say(" ")), // → one block
		user(say("f")),
	}
	mark := func(m, b int) llm.CacheMark { return llm.CacheMark{Message: m, Block: b, TTL: llm.CacheShort} }
	tests := []struct {
		name     string
		in, want []llm.CacheMark
	}{
		{"preamble", []llm.CacheMark{mark(llm.CachePreamble, 0)}, []llm.CacheMark{mark(llm.CachePreamble, 0)}},
		{"moved within a message", []llm.CacheMark{mark(0, 1)}, []llm.CacheMark{mark(0, 0)}},
		{"nothing is left before it", []llm.CacheMark{mark(0, 0)}, nil},
		{"its message is gone", []llm.CacheMark{mark(1, 0)}, []llm.CacheMark{mark(0, 0)}},
		{"two meet", []llm.CacheMark{mark(0, 1), mark(1, 0), mark(2, 1)}, []llm.CacheMark{mark(0, 0), mark(1, 1)}},
		{"turned round", []llm.CacheMark{mark(4, 0), mark(4, 1)}, []llm.CacheMark{mark(3, 1)}},
		{"its block is gone", []llm.CacheMark{mark(5, 1)}, []llm.CacheMark{mark(4, 0)}},
		{"the last", []llm.CacheMark{mark(6, 0)}, []llm.CacheMark{mark(5, 0)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := prompt.Build(llm.Request{Tools: []llm.Tool{readTool()}, Messages: msgs, CacheMarks: tt.in})
			if diff := cmp.Diff(tt.want, req.CacheMarks); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestImages(t *testing.T) {
	ok := picture(t, "png", 2001, 100)
	wide := picture(t, "png", 8001, 1)
	square := picture(t, "gif", 6000, 6000)
	mislabelled := picture(t, "jpeg", 10, 10)
	mislabelled.MimeType = "image/png"
	mended := mislabelled
	mended.MimeType = "image/jpeg"
	big := picture(t, "png", 8, 8)
	big.Data = big.Data[:len(big.Data)-4] + strings.Repeat("AAAA", 10<<20/4)
	far := farBehind(t, picture(t, "jpeg", 10, 10))
	tests := []struct {
		name string
		in   message.Image
		want message.Block
		rule string
	}{
		{"fine", ok, ok, ""},
		{"too wide", wide, say("[image omitted: 8001 by 1 pixels, over 8000]"), "1.23"},
		{"too many patches", square, say("[image omitted: 6000 by 6000 pixels, too many]"), "8.8"},
		{"too many bytes", big, say("[image omitted: over 10 MB]"), "1.23"},
		{"mislabelled", mislabelled, mended, "1.23"},
		{"no image", message.Image{MimeType: "image/png", Data: "AAAA"}, say("[image omitted: not a PNG, JPEG, GIF or WebP image]"), "1.23"},
		{"no base64", message.Image{MimeType: "image/png", Data: "iVBORw0KGgo!"}, say("[image omitted: not in base64]"), "1.23"},
		{"only the beginning of a JPEG", message.Image{MimeType: "image/jpeg", Data: "/9j/4A=="}, say(prompt.ImageNotShown), "1.23"},
		{"only the beginning of a PNG", message.Image{MimeType: "image/png", Data: "iVBORw0KGgo="}, say(prompt.ImageNotShown), "1.23"},
		{"zeros for a header", message.Image{MimeType: "image/png", Data: "iVBORw0KGgo" + strings.Repeat("A", 41)}, say(prompt.ImageNotShown), "1.23"},
		{"0 by 0", message.Image{MimeType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAAAAAAACAAAAAA6fptV"}, say(prompt.ImageNotShown), "1.23"},
		{"a size far behind", far, far, ""},
		{"empty", message.Image{MimeType: "image/png"}, say("[image omitted: not in base64]"), "1.23"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for where, in := range map[string][2][]message.Message{
				"messages[0].content[0]":            {{user(tt.in)}, {user(tt.want)}},
				"messages[2].content[0].content[0]": {{user(say("a")), assistant(use("x")), user(result("x", tt.in))}, {user(say("a")), assistant(use("x")), user(result("x", tt.want))}},
			} {
				req, repairs := prompt.Build(llm.Request{Tools: []llm.Tool{readTool()}, Messages: in[0]})
				if !cmp.Equal(in[1], req.Messages) {
					t.Errorf("%s: wrong messages", where)
				}
				var want []prompt.Repair
				if tt.rule != "" {
					want = []prompt.Repair{{tt.rule, where, 1}}
				}
				if diff := cmp.Diff(want, repairs); diff != "" {
					t.Errorf("repairs (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// farBehind puts so much in front of a JPEG's size as cameras do at times.
func farBehind(tb testing.TB, img message.Image) message.Image {
	tb.Helper()
	raw, err := base64.StdEncoding.DecodeString(img.Data)
	if err != nil {
		tb.Fatal(err)
	}
	profile := append([]byte{0xff, 0xe2, 0xff, 0xff}, make([]byte, 0xffff-2)...)
	raw = slices.Concat(raw[:2], slices.Repeat(profile, 5), raw[2:])
	img.Data = base64.StdEncoding.EncodeToString(raw)
	return img
}

// Over 20 images with a large one among them: the oldest go, ten at a time, and with
// them the thinking that came after.
func TestTooManyImages(t *testing.T) {
	small, large := picture(t, "png", 8, 8), picture(t, "png", 2001, 8)
	conversation := func(images int, last message.Image) []message.Message {
		msgs := []message.Message{user(say("look")), assistant(think(`{"n":0}`), say("yes?"))}
		for i := range images {
			img := small
			if i == images-1 {
				img = last
			}
			msgs = append(msgs, user(img, say("well?")), assistant(think(`{"n":1}`), say("well.")))
		}
		return append(msgs, user(say("and?")))
	}
	tests := []struct {
		images  int
		last    message.Image
		omitted int
	}{
		{20, large, 0}, {21, small, 0}, {21, large, 10}, {30, large, 10}, {31, large, 20}, {100, small, 0}, {101, small, 10},
	}
	for _, tt := range tests {
		msgs := conversation(tt.images, tt.last)
		req, repairs := prompt.Build(llm.Request{Messages: msgs})
		images, thoughts := 0, 0
		for i, m := range req.Messages {
			for _, b := range m.Content {
				switch b.(type) {
				case message.Image:
					images++
				case message.Thinking:
					thoughts++
					if tt.omitted > 0 && i > 2 {
						t.Errorf("%d images: thinking in message %d", tt.images, i)
					}
				case message.Text, message.ToolUse, message.ToolResult:
				}
			}
		}
		if images != tt.images-tt.omitted {
			t.Errorf("%d images: %d are left", tt.images, images)
		}
		if tt.omitted == 0 && thoughts != tt.images+1 || tt.omitted > 0 && thoughts != 1 {
			t.Errorf("%d images: %d thoughts are left", tt.images, thoughts)
		}
		counts := map[string]int{}
		for _, r := range repairs {
			counts[r.Rule] += r.Count
		}
		if tt.omitted > 0 && (counts["1.23"] != tt.omitted || counts["4.14"] != tt.images) {
			t.Errorf("%d images: repairs %v", tt.images, counts)
		}
		if last := req.Messages[len(req.Messages)-3].Content[0]; !cmp.Equal(last, message.Block(tt.last)) {
			t.Errorf("%d images: the newest is %.20v", tt.images, last)
		}
		if again := prompt.Check(req); len(again) != 0 {
			t.Errorf("%d images: still wrong: %v", tt.images, again)
		}
	}
}

// An answer that the provider paused goes back as the last word; one that is repaired
// away, or is none, leaves a conversation that ends as others do (rule 1.28).
func TestResume(t *testing.T) {
	hi, half := user(say("hi")), assistant(think(`{"t":1}`), say("half"))
	tests := []struct {
		name     string
		messages []message.Message
		want     []message.Message
		repairs  int
	}{
		{"paused", []message.Message{hi, half}, []message.Message{hi, half}, 0},
		{"nothing left of it", []message.Message{hi, assistant(say(" "))}, []message.Message{hi}, 2},
		{"ends with the user", []message.Message{hi, half, user(say("go on"))}, []message.Message{hi, half, user(say("go on"))}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, repairs := prompt.Build(llm.Request{Messages: tt.messages, Resume: true})
			if diff := cmp.Diff(tt.want, got.Messages); diff != "" || !got.Resume {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if len(repairs) != tt.repairs {
				t.Errorf("repairs: %v", repairs)
			}
		})
	}
}
