package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	v1 "sessiond/rpc/v1"
)

// reader reads a view as a pipe does.
type reader struct {
	t   *rapid.T
	out strings.Builder
	w   writer
}

func (r *reader) read(v *View) {
	open := v.Open()
	if r.w.out == nil {
		r.w.out = &r.out
	}
	if err := r.w.write(v); err != nil {
		r.t.Fatal(err)
	}
	if v.Open() != open {
		r.t.Fatalf("reading changed the open line from %q to %q", open, v.Open())
	}
}

// TestAnswerIsWhole: however an answer is cut, and whatever of it is lost, repeated or read
// at which time, what is shown of it is its text; a reader never has to take back anything.
func TestAnswerIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"one ", "two", "\n", "\r\n", "\r", "\n\n", "今天", "", "\t", "x\x1b[y"}), 0, 20)
		blocks := rapid.SliceOfN(pieces, 1, 3).Draw(t, "blocks")
		v, r := NewView(time.UTC), &reader{t: t}
		var content []map[string]any
		lost := rapid.Bool().Draw(t, "some are lost")
		for b, block := range blocks {
			content = append(content, map[string]any{"type": "text", "text": strings.Join(block, "")})
			for i := 0; i < len(block); {
				n := rapid.IntRange(1, len(block)-i).Draw(t, "chunks")
				d := v1.Delta{ItemID: fmt.Sprintf("a1/%d", b), Kind: v1.DeltaText, From: int64(i), To: int64(i + n), Text: strings.Join(block[i:i+n], "")}
				if !lost || rapid.IntRange(0, 3).Draw(t, "lost") > 0 {
					v.Apply(Streamed{d})
				}
				if rapid.Bool().Draw(t, "again") {
					v.Apply(Streamed{d})
				}
				if rapid.Bool().Draw(t, "read") {
					r.read(v)
				}
				i += n
			}
		}
		raw, err := json.Marshal(map[string]any{"message": map[string]any{"id": "a1", "role": "assistant", "content": content}})
		if err != nil {
			t.Fatal(err)
		}
		m := decodeMessage(t, raw)
		v.Apply(Logged{v1.Entry{Seq: 1, Type: v1.EventMessageAdded, Data: raw}})
		r.read(v)
		want := harmless(m.said())
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		got := r.out.String()
		if _, whole, found := strings.Cut(got, "(a part was lost on the way; the whole answer:)\n"); lost && found {
			got = whole
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

func decodeMessage(t *rapid.T, raw []byte) *Message {
	var d messageData
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return &d.Message
}
