package prompt_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
)

// heavy is an image of one pixel and of some bytes of base64, rounded up to four.
func heavy(bytes int) message.Image {
	raw, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		panic(err)
	}
	raw = append(raw, make([]byte, max(bytes/4*3-len(raw), 0))...)
	return message.Image{MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(raw)}
}

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="

// shownImages tells of each image of a conversation, in order, whether a request shows it.
func shownImages(req *llm.Request) []bool {
	var shown []bool
	var count func([]message.Block)
	count = func(content []message.Block) {
		for _, b := range content {
			switch b := b.(type) {
			case message.Image:
				shown = append(shown, true)
			case message.Text:
				if strings.HasPrefix(b.Text, "[image omitted: ") {
					shown = append(shown, false)
				}
			case message.ToolResult:
				count(b.Content)
			case message.Thinking, message.ToolUse:
			}
		}
	}
	for i := range req.Messages {
		count(req.Messages[i].Content)
	}
	return shown
}

func hidden(shown []bool) int {
	n := 0
	for _, s := range shown {
		if !s {
			n++
		}
	}
	return n
}

func TestOldImagesGoWhereARequestIsTooHeavy(t *testing.T) {
	const mb = 1_000_000
	user := func(content ...message.Block) message.Message {
		return message.Message{Role: message.RoleUser, Content: content}
	}
	words := func(n int) message.Text { return message.Text{Text: strings.Repeat("a", n)} }
	five := func(n int) []message.Block {
		var all []message.Block
		for range n {
			all = append(all, heavy(5*mb))
		}
		return all
	}
	for _, tt := range []struct {
		name    string
		req     llm.Request
		hidden  int
		largest int
	}{
		{"as much as fits", llm.Request{Messages: []message.Message{user(five(5)...)}}, 0, 28_800_000},
		{"one more", llm.Request{Messages: []message.Message{user(five(6)...)}}, 3, 16 * mb},
		{"a provider that takes less", llm.Request{MaxBodyBytes: 12 * mb, Messages: []message.Message{user(five(3)...)}}, 2, 6 * mb},
		{"beside a long text", llm.Request{Messages: []message.Message{user(words(20 * mb)), user(five(2)...)}}, 1, 28_800_000},
		{"a text that is escaped", llm.Request{Messages: []message.Message{user(message.Text{Text: strings.Repeat("<", 4*mb)}), user(five(1)...)}}, 1, 28_800_000},
		{"a text that came later", llm.Request{Messages: []message.Message{user(five(4)...), user(words(9 * mb))}}, 3, 16 * mb},
		{"a long system prompt", llm.Request{System: strings.Repeat("a", 25*mb), Messages: []message.Message{user(five(1)...)}}, 1, 28_800_000},
		{"one that is too heavy alone", llm.Request{MaxBodyBytes: mb, Messages: []message.Message{user(words(3), heavy(2*mb))}}, 1, mb},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, repairs := prompt.Build(tt.req)
			shown := shownImages(req)
			if n := hidden(shown); n != tt.hidden {
				t.Errorf("%d of %d images are left out, want %d", n, len(shown), tt.hidden)
			}
			for i, s := range shown {
				if s != (i >= tt.hidden) {
					t.Errorf("of %v not the oldest are left out", shown)
					break
				}
			}
			if n := prompt.Bytes(req); n > tt.largest {
				t.Errorf("the request has %d bytes, want at most %d", n, tt.largest)
			}
			for _, r := range repairs {
				if r.Rule != "1.25" {
					t.Errorf("repaired by rule %s", r.Rule)
				}
			}
			if again := prompt.Check(req); len(again) > 0 {
				t.Errorf("the request needs more: %v", again)
			}
		})
	}
}

// TestHeavyImagesGoSeldom: in a conversation that grows, those that are left out stay out,
// the beginning changes rarely, and the thinking after a change goes.
func TestHeavyImagesGoSeldom(t *testing.T) {
	const most, turns = 1_000_000, 60
	req := llm.Request{MaxBodyBytes: most}
	changes, before := 0, 0
	for i := range turns {
		req.Messages = append(req.Messages, message.Message{Role: message.RoleUser, Content: []message.Block{heavy(80_000)}})
		built, _ := prompt.Build(req)
		now := hidden(shownImages(built))
		switch {
		case now < before:
			t.Fatalf("after %d images %d are left out, %d before", i+1, now, before)
		case now > before:
			changes++
			for _, m := range built.Messages {
				for _, b := range m.Content {
					if _, ok := b.(message.Thinking); ok {
						t.Fatalf("thought after another beginning is still shown after %d images", i+1)
					}
				}
			}
		}
		if n := prompt.Bytes(built); n > most*9/10 {
			t.Fatalf("after %d images the request has %d bytes", i+1, n)
		}
		before = now
		req.Messages = append(req.Messages, message.Message{Role: message.RoleAssistant, Content: []message.Block{
			message.Thinking{Provider: "p", Raw: []byte(`{"type":"thinking"}`)}, message.Text{Text: "I see"},
		}})
	}
	if want := turns / 5; changes == 0 || changes > want { // of 11 that fit, 6 stay
		t.Errorf("the beginning changed %d times, want at most %d", changes, want)
	}
}

// TestWhatIsTooHeavyIsDecidedOnce: whatever a conversation has, a longer one leaves out at
// least the same images, what is built is within the bound unless words alone are over it,
// and it needs nothing more.
func TestWhatIsTooHeavyIsDecidedOnce(t *testing.T) {
	block := rapid.OneOf(
		rapid.Map(rapid.IntRange(100, 40_000), func(n int) message.Block { return heavy(n) }),
		rapid.Map(rapid.IntRange(1, 9_000), func(n int) message.Block { return message.Text{Text: strings.Repeat("x", n)} }),
	)
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(20_000, 200_000).Draw(t, "most")
		var log []message.Message
		for i, content := range rapid.SliceOfN(rapid.SliceOfN(block, 1, 3), 1, 20).Draw(t, "log") {
			id := message.ToolUseID(fmt.Sprint("c", i))
			log = append(log,
				message.Message{Role: message.RoleUser, Content: content},
				message.Message{Role: message.RoleAssistant, Content: []message.Block{message.ToolUse{ID: id, Name: "look", Input: []byte("{}")}}},
				message.Message{Role: message.RoleUser, Content: []message.Block{message.ToolResult{ToolUseID: id, Content: content}}},
			)
		}
		tools := []llm.Tool{{Name: "look", InputSchema: []byte(`{"type":"object"}`)}}
		before := 0
		for n := 1; n <= len(log); n += 2 {
			req, _ := prompt.Build(llm.Request{MaxBodyBytes: most, Messages: log[:n], Tools: tools})
			shown := shownImages(req)
			now := hidden(shown)
			if now < before {
				t.Fatalf("%d images were left out of a shorter conversation, %d now", before, now)
			}
			before = now
			if size := prompt.Bytes(req); size > most && now < len(shown) {
				t.Fatalf("%d bytes of %d with %d images", size, most, len(shown)-now)
			}
			if again := prompt.Check(req); len(again) > 0 {
				t.Fatalf("what was built needs %v", again)
			}
		}
	})
}

// TestBytesAreNeverTooFew: what is counted is at least what the JSON of a request has.
func TestBytesAreNeverTooFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		input, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		req := llm.Request{System: text, Messages: []message.Message{
			{Role: message.RoleUser, Content: []message.Block{message.Text{Text: text}, heavy(1000)}},
			{Role: message.RoleAssistant, Content: []message.Block{message.ToolUse{ID: "a", Name: "b", Input: input}}},
		}}
		written, err := json.Marshal([]any{text, text, heavy(1000).Data, string(input)})
		if err != nil {
			t.Fatal(err)
		}
		if n := prompt.Bytes(&req); n < len(written) {
			t.Fatalf("%d bytes counted of %d", n, len(written))
		}
	})
}
