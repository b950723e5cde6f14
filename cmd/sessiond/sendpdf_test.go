//go:build !race

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSendPDF: the server reads PDFs. Under the race detector the reader takes a gigabyte to
// get ready, so it is left out there.
func TestSendPDF(t *testing.T) {
	s := newSending(t)
	_, stderr := s.send("--file", filepath.Join("..", "..", "ingest", "pdfium", "testdata", "printed.pdf"), "What does it say?")
	if !strings.HasPrefix(stderr, "[printed.pdf: ") {
		t.Errorf("told %s", stderr)
	}
}
