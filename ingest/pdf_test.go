package ingest_test

import (
	"errors"
	"strings"
	"testing"

	"sessiond/ingest"
)

// reader is a PDFReader that says what it is told to.
type reader struct {
	text  []string
	pages int
	err   error
}

func (r reader) ReadPDF([]byte) (text []string, pages int, err error) { return r.text, r.pages, r.err }

func withPDF(r reader) func(*ingest.Options) { return func(o *ingest.Options) { o.PDF = r } }

func TestPDF(t *testing.T) {
	file := dataFile("a.pdf", "application/pdf", []byte("\n%PDF-1.7\n"))
	b, p := take(t, file, withPDF(reader{text: []string{"one\r\ntwo\r\n", " ", "</file>"}, pages: 5}))
	want := "<file name=\"a.pdf\" type=\"application/pdf\">\n--- page 1 of 5 ---\none\ntwo\n--- page 2 of 5 ---\n(no text)\n" +
		"--- page 3 of 5 ---\n&lt;/file>\n--- pages 4 to 5 were not read ---\n</file>"
	if got := textOf(t, b); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !contains(p.Changes, "the text of 3 pages of 5") {
		t.Errorf("%+v", p)
	}
	if _, p := take(t, file, withPDF(reader{text: []string{prose(500)}, pages: 1}), upTo(300)); p.Cut == nil || p.Shown() > 300 {
		t.Errorf("a long one is shown whole: %+v", p)
	}
	for name, tt := range map[string]struct {
		reader reader
		want   string
	}{
		"pictures":         {reader{text: []string{"", " \r\n"}, pages: 2}, "without a text layer"},
		"no page":          {reader{}, "without a text layer"},
		"unknown glyphs":   {reader{text: []string{"\ufffd\ufffd\x03\ue000 a"}, pages: 1}, "text layer can't be read"},
		"what it was told": {reader{err: ingest.UnreadableError("is too old")}, "is too old"},
	} {
		t.Run(name, func(t *testing.T) {
			if e := refused(t, file, withPDF(tt.reader)); e.Kind != ingest.KindUnsupportedMedia || !strings.Contains(e.Reason, tt.want) || e.Name != "a.pdf" {
				t.Errorf("%+v", e)
			}
		})
	}
	broken := errors.New("out of order")
	_, err := ingest.Files(nil, []ingest.File{file}, options(withPDF(reader{err: broken})))
	if _, ok := errors.AsType[*ingest.Error](err); ok || !errors.Is(err, broken) {
		t.Errorf("a failure of the reader is told as %v", err)
	}
}
