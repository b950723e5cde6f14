package ingest

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PDFReader reads the text of PDFs. It must bound its own time and memory, and may be
// called by many at once.
type PDFReader interface {
	// ReadPDF returns the text of each page, in order, a page without text as "". It may
	// stop before the last page; pages is how many there are. A file that can't be read
	// is told by an [UnreadableError]; another error is the reader's own failure.
	ReadPDF(data []byte) (text []string, pages int, err error)
}

const pdfType = "application/pdf"

// readPDF makes a text of a PDF's pages, each under a line with its number.
func (o Options) readPDF(at place, data []byte) (item, error) {
	if o.PDF == nil {
		return nil, at.unsupported("is a PDF, which this server does not read; send its text, or its pages as pictures")
	}
	text, pages, err := o.PDF.ReadPDF(data)
	if why, ok := errors.AsType[UnreadableError](err); ok {
		return nil, at.unsupported(why.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("read PDF %s: %w", at.path, err)
	}
	switch legible, illegible := countLegible(text); {
	case legible == 0 && illegible == 0:
		return nil, at.unsupported("is a PDF without a text layer; send its pages as pictures")
	case illegible > legible/4:
		return nil, at.unsupported("is a PDF whose text layer can't be read; send its pages as pictures")
	}
	change := fmt.Sprintf("the text of %d pages", len(text))
	if len(text) < pages {
		change += fmt.Sprintf(" of %d", pages)
	}
	return o.newDocument(at, pdfType, joinPages(text, pages), []string{change}), nil
}

func joinPages(text []string, pages int) string {
	var b strings.Builder
	for i, t := range text {
		fmt.Fprintf(&b, "--- page %d of %d ---\n", i+1, pages)
		t = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(t))
		if t == "" {
			t = "(no text)"
		}
		b.WriteString(t + "\n")
	}
	if len(text) < pages {
		fmt.Fprintf(&b, "--- pages %d to %d were not read ---\n", len(text)+1, pages)
	}
	return b.String()
}

// countLegible counts the characters of a text layer that mean something, and those that
// stand for glyphs of which nobody knows what they mean.
func countLegible(pages []string) (legible, illegible int) {
	for _, text := range pages {
		for _, r := range text {
			switch {
			case unicode.IsSpace(r):
			case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Co, r):
				illegible++
			default:
				legible++
			}
		}
	}
	return legible, illegible
}
