package server_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorilla/websocket"

	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
)

func asData(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// TestFilesOfAMessage: the sender is told what became of each, and the log keeps them whole.
func TestFilesOfAMessage(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{})
	long := strings.Repeat("word ", 20_000)
	in := params{"session_id": s.ID, "content": "Look:", "key": "k", "attachments": []any{
		params{"name": "short.txt", "mime_type": "text/plain", "text": "a few words"},
		params{"name": "long.txt", "mime_type": "text/plain", "data": asData(long)},
		params{"name": "wide.txt", "mime_type": "text/plain", "data": asData("\xff\xfeh\x00i\x00")},
	}}
	sent := decode[v1.MessageSendResult](t, p.call(v1.MethodMessageSend, in))
	want := []v1.SentFile{{Name: "short.txt"}, {Name: "long.txt"}, {Name: "wide.txt"}}
	if diff := cmp.Diff(want, sent.Files, cmpopts.IgnoreFields(v1.SentFile{}, "Tokens", "ShownTokens", "Changes")); diff != "" {
		t.Fatalf("files (-want +told):\n%s", diff)
	}
	short, cut, wide := sent.Files[0], sent.Files[1], sent.Files[2]
	if short.Tokens == 0 || short.Tokens != short.ShownTokens || short.Changes != nil {
		t.Errorf("a short one: %+v", short)
	}
	if cut.Tokens < 20_000 || cut.ShownTokens == 0 || cut.ShownTokens > cut.Tokens/2 {
		t.Errorf("a long one: %+v", cut)
	}
	if len(wide.Changes) != 1 || !strings.Contains(wide.Changes[0], "UTF-16LE") {
		t.Errorf("one of another encoding: %+v", wide)
	}
	again := decode[v1.MessageSendResult](t, p.call(v1.MethodMessageSend, in))
	sent.Replayed = true
	if diff := cmp.Diff(sent, again); diff != "" {
		t.Errorf("sent again (-first +again):\n%s", diff)
	}
	stored := p.call(v1.MethodMessageGet, params{"session_id": s.ID, "message_id": sent.MessageID})
	if !strings.Contains(string(stored), long) {
		t.Error("the log does not have the long file whole")
	}
}

// TestContentThatIsRefused tells what is wrong with which member, and by how much.
func TestContentThatIsRefused(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{})
	file := func(name, data string) []any {
		return []any{params{"name": name, "mime_type": "application/octet-stream", "data": asData(data)}}
	}
	tests := []struct {
		name         string
		in           params
		kind         v1.Kind
		path, reason string
	}{
		{"a PDF where none is read", params{"content": "x", "attachments": file("a.pdf", "%PDF-1.7\n")}, v1.KindUnsupportedMedia, "attachments[0]", "is a PDF"},
		{"a program", params{"content": "x", "attachments": file("a.bin", "\x7fELF\x02\x01\x01\x00\x00")}, v1.KindUnsupportedMedia, "attachments[0]", "is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := p.refused(tt.kind, v1.MethodMessageSend, both(tt.in, params{"session_id": s.ID}))
			d := decode[v1.ErrorData](t, e.Data)
			if d.Path != tt.path || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("told %s", e.Data)
			}
			if tooLarge := tt.kind == v1.KindContentTooLarge; tooLarge && (d.MaxTokens == 0 || d.Tokens <= d.MaxTokens) || !tooLarge && d.Tokens != 0 {
				t.Errorf("told %d tokens of %d", d.Tokens, d.MaxTokens)
			}
		})
	}
	if head := p.get(s.ID).HeadSeq; head != 1 {
		t.Errorf("%d entries were stored", head-1)
	}
}

// TestALargePicture: what a frame can't hold ends the connection with a reason, and costs
// the session nothing; where the operator allows larger frames it is taken.
func TestALargePicture(t *testing.T) {
	var picture bytes.Buffer
	uncompressed := png.Encoder{CompressionLevel: png.NoCompression}
	if err := uncompressed.Encode(&picture, image.NewGray(image.Rect(0, 0, 2650, 2650))); err != nil {
		t.Fatal(err)
	}
	if n := picture.Len(); n < 7_000_000 || n > 7_100_000 {
		t.Fatalf("the picture has %d bytes", n)
	}
	message := func(session string) params {
		return params{"session_id": session, "content": "Look:", "attachments": []any{
			params{"name": "photo.png", "mime_type": "image/png", "data": asData(picture.String())},
		}}
	}
	t.Run("by default", func(t *testing.T) {
		w := newWorld(t, setup{})
		p := w.dial()
		s := p.create(params{})
		p.start(v1.MethodMessageSend, message(s.ID))
		_, err := p.read()
		if closed, ok := errors.AsType[*websocket.CloseError](err); !ok || closed.Code != rpc.CloseTooBig || !strings.Contains(closed.Text, "8388608") {
			t.Errorf("the connection ended with %v", err)
		}
		p = w.dial()
		p.send(s.ID, "still there?")
	})
	t.Run("with larger frames", func(t *testing.T) {
		limits := v1.DefaultLimits()
		limits.FrameBytes = 12 << 20
		w := newWorld(t, setup{edge: serverOptions(limits)})
		p := w.dial()
		s := p.create(params{})
		sent := decode[v1.MessageSendResult](t, p.call(v1.MethodMessageSend, message(s.ID)))
		if len(sent.Files) != 1 || sent.Files[0].Tokens != 4_784 { // the most of any picture
			t.Errorf("told %+v", sent.Files)
		}
	})
}
