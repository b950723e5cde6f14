package ingest_test

import (
	"encoding/base64"
	"errors"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sessiond/ingest"
	"sessiond/message"
)

// TestOrder: the given blocks come first, as they are, and the files in their order.
func TestOrder(t *testing.T) {
	picture := message.Image{MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(small("png"))}
	blocks := append(make([]message.Block, 0, 8), message.Text{Text: "</file> compare"}, picture)
	r, err := ingest.Files(blocks, []ingest.File{textFile("a", "", "x"), dataFile("b", "", small("gif")), textFile("c", "", "y")}, options())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var files []int
	for i, b := range r.Blocks {
		switch b := b.(type) {
		case message.Text:
			kinds = append(kinds, b.Text)
		case message.Image:
			kinds = append(kinds, b.MimeType)
		case message.Thinking, message.ToolUse, message.ToolResult:
			t.Errorf("a %T", b)
		}
		files = append(files, r.Parts[i].File)
	}
	want := []string{"</file> compare", "image/png", "<file name=\"a\" type=\"text/plain\">\nx\n</file>", "image/gif", "<file name=\"c\" type=\"text/plain\">\ny\n</file>"}
	if diff := cmp.Diff(want, kinds); diff != "" || !slices.Equal(files, []int{-1, -1, 0, 1, 2}) {
		t.Errorf("files %v (-want +got):\n%s", files, diff)
	}
	if spare := blocks[:3]; spare[2] != nil {
		t.Error("the caller's slice was written to")
	}
	if r, err := ingest.Files(nil, nil, options()); err != nil || r.Blocks != nil || r.Parts != nil {
		t.Errorf("nothing gives %+v, %v", r, err)
	}
	if _, err := ingest.Files(nil, nil, ingest.Options{}); err == nil {
		t.Error("options without a counter are taken")
	}
}

// TestFirstErrorWins: the error is of the file that it names.
func TestFirstErrorWins(t *testing.T) {
	_, err := ingest.Files(nil, []ingest.File{textFile("a", "", "x"), dataFile("b", "", []byte{0, 1}), dataFile("c", "", []byte("\x7fELF"))}, options())
	if e, ok := errors.AsType[*ingest.Error](err); !ok || e.File != 1 || e.Path != "attachments[1]" || e.Name != "b" {
		t.Errorf("got %v", err)
	}
}

// TestAtOnce: the same calls at the same time give the same results.
func TestAtOnce(t *testing.T) {
	files := []ingest.File{
		textFile("a", "", prose(300)), dataFile("b", "", jpegOf(quads(2100, 300), 80)), dataFile("c", "", fixture("animated.webp")),
	}
	o := options(upTo(500))
	want, err := ingest.Files(nil, files, o)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got, err := ingest.Files(nil, files, o)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	wg.Wait()
}

// TestPure: the package has nothing by which it could do more than compute.
func TestPure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"bytes", "encoding/base64", "encoding/binary", "errors", "fmt", "io", "math", "mime", "strconv", "strings",
		"unicode", "unicode/utf16", "unicode/utf8", "image", "image/color", "image/draw", "image/gif", "image/jpeg", "image/png",
		"golang.org/x/image/webp", "golang.org/x/text/encoding/htmlindex", "sessiond/message", "sessiond/tokens",
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			seen++
			if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
	if seen == 0 {
		t.Error("no file was found")
	}
}

// FuzzFiles: whatever comes, it is taken within all limits or refused with a reason.
func FuzzFiles(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif", "webp"} {
		f.Add(small(format), "a."+format, "image/"+format, uint16(0))
	}
	for _, name := range []string{"animated-alpha.webp", "animated-offset.webp", "animated.webp", "lossy-alpha.webp", "lossy.webp"} {
		f.Add(fixture(name), name, "image/webp", uint16(50))
	}
	f.Add(oriented(fixture("lossy-alpha.webp"), 6), "a", "", uint16(0))
	f.Add(smallFrameGIF(), "a", "", uint16(200))
	f.Add([]byte("x</file>"), "a\"\n", "text/plain; charset=utf-8", uint16(0))
	f.Add([]byte(prose(30)), "a", "text/plain; charset=gbk", uint16(150))
	f.Add([]byte("\xff\xfeA\x00"), "a", "", uint16(0))
	f.Add([]byte("A\x00\x00\x00"), "a", "", uint16(0))
	f.Add([]byte("\xb2\xe2"), "a", "text/plain; charset=gb18030", uint16(0))
	f.Add([]byte("PK\x03\x04"), "a", "", uint16(0))
	f.Add([]byte("%PDF-1.7"), "a.pdf", "application/pdf", uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, name, mime string, most uint16) {
		o := options()
		o.MaxFileTokens, o.Animated = int(most), most%2 == 1
		files := []ingest.File{dataFile(name, mime, data)}
		if utf8.Valid(data) {
			files = append(files, textFile(name, mime, string(data)))
		}
		for _, file := range files {
			r, err := ingest.Files(nil, []ingest.File{file}, o)
			if err != nil {
				if e, ok := errors.AsType[*ingest.Error](err); !ok || e.Reason == "" || strings.Contains(e.Name, "\n") {
					t.Fatalf("%v", err)
				}
				continue
			}
			judge(t, r, o)
		}
	})
}

// judge checks what must hold for every file that is taken.
func judge(t *testing.T, r ingest.Result, o ingest.Options) {
	t.Helper()
	p := r.Parts[0]
	if p.Shown() < 1 || o.MaxFileTokens > 0 && p.Shown() > o.MaxFileTokens {
		t.Fatalf("%d tokens of %d", p.Shown(), o.MaxFileTokens)
	}
	switch b := r.Blocks[0].(type) {
	case message.Image:
		pictureOf(t, b, p, o)
	case message.Text:
		shown := b.Text
		if p.Cut != nil {
			shown = p.Cut.Render(shown)
		}
		if !utf8.ValidString(b.Text) || !strings.HasPrefix(shown, "<file name=\"") || !strings.HasSuffix(shown, "\n</file>") || strings.Count(strings.ToLower(shown), "</file") != 1 {
			t.Fatalf("shown is %q", shown)
		}
	case message.Thinking, message.ToolUse, message.ToolResult:
		t.Fatalf("the block is a %T", b)
	}
}
