package pdfium

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sessiond/ingest"
	"sessiond/tokens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// generous are limits that only bombs meet, however slow the machine.
var generous = limits{time: 10 * time.Minute, memoryPages: 1024, pages: 1000, textBytes: 8 << 20}

// damaged is how many damaged documents are tried.
const damaged = 12

// shared is one reader for most tests, so that PDFium is compiled once.
var shared = sync.OnceValue(func() *Reader { return newReader(testConfig(), generous) })

// within returns a reader with other limits that compiles nothing again.
func within(l limits) *Reader {
	r := newReader(testConfig(), l)
	r.config = shared().config.WithMemoryLimitPages(l.memoryPages)
	return r
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// object is what an object of a PDF says, from the first: the catalogue and the list of
// pages are objects 1 and 2.
func pdf(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

const (
	catalogue = "<< /Type /Catalog /Pages 2 0 R >>"
	font      = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
)

func stream(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

// pagesOf makes a PDF of pages that draw something; attributes go into each page.
func pagesOf(attributes string, contents ...string) []byte {
	objects := []string{catalogue, "", font}
	var kids []string
	for _, c := range contents {
		n := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] %s /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>", attributes, n+1),
			stream("", c))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	return pdf(objects...)
}

func draw(text string) string { return "BT /F 12 Tf 72 700 Td (" + text + ") Tj ET" }

// formBomb is a page whose form draws ten forms, each of which draws ten, and so on.
func formBomb() []byte {
	const first, levels = 6, 20
	objects := []string{
		catalogue, "<< /Type /Pages /Kids [4 0 R] /Count 1 >>", font,
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /XObject << /X %d 0 R >> >> /Contents 5 0 R >>", first),
		stream("", "/X Do"),
	}
	for i := range levels {
		dict := fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X %d 0 R >> >>", first+i+1)
		objects = append(objects, stream(dict, strings.Repeat("/X Do ", 10)))
	}
	return pdf(append(objects, stream("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F 3 0 R >> >>", draw("boom")))...)
}

// flateBomb is a page that says something, and one of 20 MB in some KB.
func flateBomb(t *testing.T) []byte {
	t.Helper()
	var inner, outer bytes.Buffer
	chunk := []byte(strings.Repeat("BT /F 12 Tf (a) Tj ET\n", 1<<15))
	z := zlib.NewWriter(&inner)
	for range 20 << 20 / len(chunk) {
		if _, err := z.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	zz := zlib.NewWriter(&outer)
	if err := errors.Join(z.Close(), func() error { _, err := zz.Write(inner.Bytes()); return err }(), zz.Close()); err != nil {
		t.Fatal(err)
	}
	page := "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>"
	return pdf(catalogue, "<< /Type /Pages /Kids [4 0 R 6 0 R] /Count 2 >>", font,
		fmt.Sprintf(page, 5), stream("", draw("the first page")),
		fmt.Sprintf(page, 7), stream("/Filter [/FlateDecode /FlateDecode]", outer.String()))
}

func TestReadPDF(t *testing.T) {
	line := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", " / ")) }
	tests := []struct {
		name string
		data []byte
		want []string
	}{
		{"pages", pagesOf("", draw("one"), draw("two"), ""), []string{"one", "two", ""}},
		{"a turned page", pagesOf("/Rotate 90", "0 1 -1 0 600 0 cm BT /F 12 Tf 72 500 Td (first) Tj 0 -20 Td (second) Tj ET"), []string{"first / second"}},
		{"turned text", pagesOf("", "q 0 1 -1 0 300 100 cm BT /F 12 Tf (up the page) Tj ET Q "+draw("upright")), []string{"up the page / upright"}},
		{"a hyphen at the end of a line", pagesOf("", "BT /F 12 Tf 72 700 Td (a state-) Tj 0 -14 Td (of-the-art line) Tj ET"), []string{"a state-of-the-art line"}},
		{"fonts of four scripts, not embedded", fixture(t, "cjk.pdf"), []string{"中文会话服务器测试", "日本語のテスト文書です", "한국어 문서 시험", "繁體中文測試"}},
		{"printed by a browser, with ligatures", fixture(t, "printed.pdf"), []string{"office 会话 テスト"}},
		{"pages in a circle", pdf(catalogue, "<< /Type /Pages /Kids [2 0 R] /Count 1000000000 >>"), nil},
		{"parents in a circle", pdf(catalogue, "<< /Type /Pages /Parent 3 0 R /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", stream("", draw("hi"))), []string{"hi"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, pages, err := shared().ReadPDF(tt.data)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range text {
				got = append(got, line(s))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || pages != len(tt.want) {
				t.Errorf("%d pages (-want +got):\n%s", pages, diff)
			}
		})
	}
	t.Run("encrypted without a password", func(t *testing.T) {
		text, pages, err := shared().ReadPDF(fixture(t, "encrypted.pdf"))
		if err != nil || pages != 1 || len(text) != 1 || !strings.Contains(text[0], "Encrypted") {
			t.Errorf("%d pages, %q, %v", pages, text, err)
		}
	})
}

// TestUnreadable: what can't be read is told in words, and the next document can be.
func TestUnreadable(t *testing.T) {
	whole := fixture(t, "encrypted.pdf")
	for _, tt := range []struct {
		name, want string
		data       []byte
	}{
		{"a password", "password", fixture(t, "password.pdf")},
		{"garbage", "damaged", []byte("%PDF-1.7\n\x00\x01\x02")},
		{"a header", "damaged", []byte("%PDF-")},
		{"half a file", "damaged", whole[:len(whole)/2]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, pages, err := shared().ReadPDF(tt.data)
			why, ok := errors.AsType[ingest.UnreadableError](err)
			if !ok || !strings.Contains(why.Error(), tt.want) || text != nil || pages != 0 {
				t.Errorf("got %q, %d, %v", text, pages, err)
			}
		})
	}
	if _, _, err := shared().ReadPDF(pagesOf("", draw("fine"))); err != nil {
		t.Error(err)
	}
}

// TestBomb: a document that would never end does, by its time or its memory.
func TestBomb(t *testing.T) {
	l := generous
	l.time, l.memoryPages = 2*time.Second, 512
	_, _, err := within(l).ReadPDF(formBomb())
	if _, ok := errors.AsType[ingest.UnreadableError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// TestDeadline: a document that would take seconds is stopped in the middle of its work.
func TestDeadline(t *testing.T) {
	contents := make([]string, 1000)
	for i := range contents {
		contents[i] = draw(strings.Repeat("the quick brown fox ", 200))
	}
	data := pagesOf("", contents...)
	if err := shared().compile(); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []time.Duration{0, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		text, pages, err := shared().read(ctx, data)
		cancel()
		why, ok := errors.AsType[ingest.UnreadableError](err)
		switch {
		case ok && strings.Contains(why.Error(), "too long"):
		case err == nil && limit > 0 && pages == 1000 && len(text) > 0 && len(text) < 1000:
		default:
			t.Errorf("%d of %d pages, %v", len(text), pages, err)
		}
	}
}

// TestPartly: what was read before a limit is returned.
func TestPartly(t *testing.T) {
	l := generous
	l.memoryPages = 320
	t.Run("memory", func(t *testing.T) {
		text, pages, err := within(l).ReadPDF(flateBomb(t))
		if err != nil || pages != 2 || len(text) != 1 || !strings.Contains(text[0], "the first page") {
			t.Errorf("got %q of %d pages, %v", text, pages, err)
		}
	})
	l = generous
	l.pages, l.textBytes = 3, 10
	for _, tt := range []struct {
		name  string
		texts []string
		want  []string
	}{
		{"pages", []string{"a", "b", "c", "d"}, []string{"a", "b", "c"}},
		{"text", []string{"a", "0123456789", "c"}, []string{"a", "012345678"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var contents []string
			for _, s := range tt.texts {
				contents = append(contents, draw(s))
			}
			text, pages, err := within(l).ReadPDF(pagesOf("", contents...))
			for i := range text {
				text[i] = strings.TrimSpace(text[i])
			}
			if diff := cmp.Diff(tt.want, text); diff != "" || pages != len(tt.texts) || err != nil {
				t.Errorf("%d pages, %v (-want +got):\n%s", pages, err, diff)
			}
		})
	}
}

// TestAtOnce: more documents than places all get read.
func TestAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 2 * atOnce {
		wg.Go(func() {
			word := fmt.Sprintf("document %d", i)
			text, _, err := shared().ReadPDF(pagesOf("", draw(word)))
			if err != nil || len(text) != 1 || !strings.Contains(text[0], word) {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
	wg.Wait()
}

func TestBusyAndClosed(t *testing.T) {
	r := newReader(testConfig(), limits{time: time.Millisecond})
	for range atOnce {
		r.slots <- struct{}{}
	}
	if _, _, err := r.ReadPDF(nil); !errors.Is(err, ErrBusy) {
		t.Errorf("without a place: %v", err)
	}
	for range atOnce {
		<-r.slots
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := r.ReadPDF(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestIngest: from a file to a block.
func TestIngest(t *testing.T) {
	counter, err := tokens.New("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(pagesOf("", draw("one </file>"), "", draw("three")))
	r, err := ingest.Files(nil, []ingest.File{{Name: "a.pdf", MimeType: "text/plain", Data: &data}}, ingest.Options{Counter: counter, PDF: shared()})
	if err != nil {
		t.Fatal(err)
	}
	want := "<file name=\"a.pdf\" type=\"application/pdf\">\n--- page 1 of 3 ---\none &lt;/file>\n--- page 2 of 3 ---\n(no text)\n--- page 3 of 3 ---\nthree\n</file>"
	if got := fmt.Sprint(r.Blocks[0]); got != "{"+want+"}" {
		t.Errorf("got %s", got)
	}
}

// TestDamaged: whatever is wrong with a document, it is read or told to be unreadable.
// (A fuzzer that is led by coverage learns nothing here: what runs is not Go.)
func TestDamaged(t *testing.T) {
	r := within(limits{time: 2 * time.Second, memoryPages: 512, pages: 10, textBytes: 1 << 20})
	if err := r.compile(); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range damaged {
		data := bytes.Clone(fixture(t, []string{"cjk.pdf", "encrypted.pdf", "printed.pdf"}[i%3]))
		for range 1 + random.IntN(30) {
			data[random.IntN(len(data))] = byte(random.Uint32())
		}
		text, pages, err := r.ReadPDF(data)
		if _, ok := errors.AsType[ingest.UnreadableError](err); err != nil && !ok || len(text) > pages {
			t.Fatalf("document %d: %d of %d pages, %v", i, len(text), pages, err)
		}
	}
}

func BenchmarkReadPDF(b *testing.B) {
	contents := make([]string, 20)
	for i := range contents {
		contents[i] = draw(strings.Repeat("the quick brown fox ", 100))
	}
	data := pagesOf("", contents...)
	if err := shared().compile(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := shared().ReadPDF(data); err != nil {
			b.Fatal(err)
		}
	}
}
