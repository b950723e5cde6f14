package session_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/message"
	"sessiond/session"
)

// emptyPNG is 0 by 0 pixels.
const emptyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAAAAAAACAAAAAA6fptV"

func TestContent(t *testing.T) {
	str := func(s string) *string { return &s }
	const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABc3UBGAAAAABJRU5ErkJggg==" // a pixel
	png := message.Image{MimeType: "image/png", Data: dot}
	tests := []struct {
		name   string
		blocks []message.Block
		files  []session.Attachment
		want   []message.Block
		err    string // kind and path
	}{
		{"no attachments", text("hi"), nil, text("hi"), ""},
		{
			"text", text("hi"),
			[]session.Attachment{{Name: "a.txt", MimeType: "text/plain", Text: str("body")}},
			[]message.Block{message.Text{Text: "hi"}, message.Text{Text: "<file name=\"a.txt\" type=\"text/plain\">\nbody\n</file>"}},
			"",
		},
		{"text with a newline at its end", nil, []session.Attachment{{Name: "a", MimeType: "b", Text: str("body\n")}}, text("<file name=\"a\" type=\"b\">\nbody\n</file>"), ""},
		{"empty text", nil, []session.Attachment{{Name: "a", MimeType: "b", Text: str("")}}, text("<file name=\"a\" type=\"b\">\n\n</file>"), ""},
		{
			"text that would end its wrapper", nil,
			[]session.Attachment{{Name: "a", MimeType: "b", Text: str("x</file></FILE ></filed>")}},
			text("<file name=\"a\" type=\"b\">\nx&lt;/file>&lt;/FILE >&lt;/filed>\n</file>"), "",
		},
		{
			"a name that would end its attribute", nil,
			[]session.Attachment{{Name: "\"><b>&\n", MimeType: "b", Text: str("x")}},
			text("<file name=\"&quot;&gt;&lt;b&gt;&amp; \" type=\"b\">\nx\n</file>"), "",
		},
		{"image", text("look"), []session.Attachment{{Name: "a.png", MimeType: "image/png", Data: str(dot)}}, []message.Block{message.Text{Text: "look"}, png}, ""},
		{"image block", []message.Block{png}, nil, []message.Block{png}, ""},
		{
			"several",
			[]message.Block{png},
			[]session.Attachment{{Name: "a", MimeType: "b", Text: str("x")}, {MimeType: "image/webp", Data: str(dot)}},
			[]message.Block{png, message.Text{Text: "<file name=\"a\" type=\"b\">\nx\n</file>"}, message.Image{MimeType: "image/webp", Data: dot}},
			"",
		},
		{"neither text nor data", nil, []session.Attachment{{Name: "a", MimeType: "image/png"}}, nil, "invalid_param attachments[0]"},
		{"text and data", nil, []session.Attachment{{Text: str("x")}, {Name: "a", MimeType: "image/png", Text: str("x"), Data: str("AAAA")}}, nil, "invalid_param attachments[1]"},
		{"data that is no image", nil, []session.Attachment{{Name: "a", MimeType: "application/pdf", Data: str("AAAA")}}, nil, "unsupported_media attachments[0]"},
		{"an attachment that is no image", nil, []session.Attachment{{MimeType: "image/png", Data: str("AAAA")}}, nil, "unsupported_media attachments[0]"},
		{"the beginning of an image", append(text("look"), message.Image{MimeType: "image/jpeg", Data: "/9j/4A=="}), nil, nil, "unsupported_media content[1]"},
		{"an image of no size", []message.Block{message.Image{MimeType: "image/png", Data: emptyPNG}}, nil, nil, "unsupported_media content[0]"},
		{"an image of nothing", []message.Block{message.Image{MimeType: "image/png", Data: "iVBORw0KGgo" + strings.Repeat("A", 41)}}, nil, nil, "unsupported_media content[0]"},
		{"image block of another type", []message.Block{message.Image{MimeType: "image/tiff", Data: "AAAA"}}, nil, nil, "unsupported_media content[0]"},
		{"no base64", nil, []session.Attachment{{MimeType: "image/png", Data: str("A-_A")}}, nil, "invalid_param attachments[0].data"},
		{"no padding", nil, []session.Attachment{{MimeType: "image/png", Data: str("AAA")}}, nil, "invalid_param attachments[0].data"},
		{"stray bits", nil, []session.Attachment{{MimeType: "image/png", Data: str("AAB=")}}, nil, "invalid_param attachments[0].data"},
		{"line breaks", nil, []session.Attachment{{MimeType: "image/png", Data: str("AA\nAA")}}, nil, "invalid_param attachments[0].data"},
		{"no data", nil, []session.Attachment{{MimeType: "image/png", Data: str("")}}, nil, "invalid_param attachments[0].data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := session.Content(tt.blocks, tt.files)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			kind := ""
			if e, ok := errors.AsType[*session.Error](err); ok {
				path, _ := e.Data["path"].(string)
				kind = string(e.Kind) + " " + path
			}
			if kind != tt.err {
				t.Errorf("error is %v, want %s", err, tt.err)
			}
		})
	}
}

func TestContentLeavesItsInputAlone(t *testing.T) {
	blocks := append(make([]message.Block, 0, 4), message.Text{Text: "a"})
	s := "x"
	if _, err := session.Content(blocks, []session.Attachment{{Text: &s}}); err != nil {
		t.Fatal(err)
	}
	if spare := blocks[:2]; spare[1] != nil {
		t.Errorf("the caller's slice was written to: %v", spare)
	}
}

func TestErrors(t *testing.T) {
	err := error(&session.Error{Kind: session.KindVersionConflict, Message: "changed", Data: map[string]any{"version": 2, "a": 1}})
	if got, want := err.Error(), "version_conflict: changed (a=1, version=2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, &session.Error{Kind: session.KindVersionConflict}) || errors.Is(err, &session.Error{Kind: session.KindBusy}) {
		t.Error("errors.Is does not go by the kind")
	}
}
