package pdfium

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	pdfium "github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"sessiond/ingest"
)

// ErrBusy is what a call fails with that waited for as long as a document may take, and
// still others are being read.
var ErrBusy = errors.New("pdfium: too many documents are being read")

// ErrClosed is what calls fail with after Close.
var ErrClosed = errors.New("pdfium: the reader is closed")

// limits bound what a document takes.
type limits struct {
	time        time.Duration
	memoryPages uint32 // of 64 KB
	pages       int
	textBytes   int
}

// atOnce is how many documents are read at the same time.
const atOnce = 2

// Reader reads PDFs; it is an [ingest.PDFReader].
type Reader struct {
	limits  limits
	config  wazero.RuntimeConfig // keeps what was compiled
	cache   wazero.CompilationCache
	slots   chan struct{} // holds one for each document that is being read
	mu      sync.Mutex
	ready   bool // PDFium is compiled
	closing sync.Once
	closed  chan struct{}
}

// New returns a reader. It costs nothing until the first document comes.
func New() *Reader {
	return newReader(wazero.NewRuntimeConfigCompiler(), limits{
		time: 20 * time.Second, memoryPages: 128 << 20 / (64 << 10), pages: 1000, textBytes: 8 << 20,
	})
}

func newReader(config wazero.RuntimeConfig, l limits) *Reader {
	cache := wazero.NewCompilationCache()
	config = config.
		WithCompilationCache(cache).
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling). // PDFium is built with them
		WithMemoryLimitPages(l.memoryPages).
		WithCloseOnContextDone(true) // or a deadline would stop nothing
	return &Reader{
		limits: l, config: config, cache: cache,
		slots: make(chan struct{}, atOnce), closed: make(chan struct{}),
	}
}

// Close waits for the documents that are being read and frees what was compiled. It may
// be called more than once.
func (r *Reader) Close() error {
	var err error
	r.closing.Do(func() {
		close(r.closed)
		for range atOnce {
			r.slots <- struct{}{}
		}
		err = r.cache.Close(context.Background())
	})
	return err
}

// ReadPDF implements [ingest.PDFReader]. It blocks for up to 20 s for a place among those
// that read, and as long for the document; and for the first one while PDFium is being
// compiled. Besides an [ingest.UnreadableError] it fails with ErrBusy and ErrClosed.
func (r *Reader) ReadPDF(data []byte) (text []string, pages int, err error) {
	if err := r.acquire(); err != nil {
		return nil, 0, err
	}
	defer func() { <-r.slots }()
	if err := r.compile(); err != nil {
		return nil, 0, err
	}
	// The deadline is the document's, whoever waits for it: ingestion has no context.
	ctx, cancel := context.WithTimeout(context.Background(), r.limits.time)
	defer cancel()
	return r.read(ctx, data)
}

func (r *Reader) acquire() error {
	timer := time.NewTimer(r.limits.time)
	defer timer.Stop()
	select {
	case <-r.closed: // it may be that there are slots as well
		return ErrClosed
	default:
	}
	select {
	case <-r.closed:
		return ErrClosed
	case <-timer.C:
		return ErrBusy
	case r.slots <- struct{}{}:
		return nil
	}
}

// compile compiles PDFium if it isn't yet; the others wait.
func (r *Reader) compile() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready {
		return nil
	}
	pool, err := r.start(context.Background())
	if err != nil {
		return err
	}
	r.ready = true
	return pool.Close()
}

// start makes a machine that ends with its context. Each document has its own, so that
// none can leave anything behind for the next.
func (r *Reader) start(ctx context.Context) (pdfium.Pool, error) {
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: r.config,
		FSConfig: wazero.NewFSConfig(), // without a file
		Stdout:   io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("pdfium: start: %w", err)
	}
	return pool, nil
}

func (r *Reader) read(ctx context.Context, data []byte) (text []string, pages int, err error) {
	pool, err := r.start(ctx)
	if err != nil {
		return nil, 0, stopped(ctx, err)
	}
	defer func() { _ = pool.Close() }() // a machine that was stopped has nothing to say about that
	instance, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, 0, stopped(ctx, fmt.Errorf("pdfium: instance: %w", err))
	}
	opened, err := instance.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return nil, 0, unreadable(ctx, err)
	}
	count, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return nil, 0, unreadable(ctx, err)
	}
	text, err = r.readPages(instance, opened.Document, min(count.PageCount, r.limits.pages))
	if err != nil && len(text) == 0 {
		return nil, 0, unreadable(ctx, err)
	}
	return text, count.PageCount, nil
}

// readPages reads up to n pages, and returns what it has when something stops it.
func (r *Reader) readPages(instance pdfium.Pdfium, document references.FPDF_DOCUMENT, n int) (text []string, err error) {
	room := r.limits.textBytes
	for i := range n {
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: document, Index: i}}
		got, err := instance.GetPageText(&requests.GetPageText{Page: page})
		if errors.Is(err, pdferrors.ErrPage) { // this one is damaged; the next may not be
			text = append(text, "")
			continue
		}
		if err != nil {
			return text, err
		}
		if len(got.Text) > room {
			return append(text, strings.ToValidUTF8(clean(got.Text[:room]), "")), nil
		}
		room -= len(got.Text)
		text = append(text, clean(got.Text))
	}
	return text, nil
}

// clean makes characters of what PDFium marks: a hyphen at the end of a line, which it
// takes for a part of the word's division.
func clean(text string) string {
	return strings.NewReplacer("\x02", "-", "\ufffe", "-").Replace(text)
}

// unreadable says in words why a document can't be read.
func unreadable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ingest.UnreadableError("is a PDF that takes too long to read; send its pages as pictures")
	case errors.Is(err, pdferrors.ErrPassword):
		return ingest.UnreadableError("is a PDF with a password; send it without")
	case errors.Is(err, pdferrors.ErrSecurity):
		return ingest.UnreadableError("is a PDF encrypted in a way that can't be read; print it to a new PDF")
	}
	return ingest.UnreadableError("is a PDF that is damaged, or takes too much memory to read")
}

// stopped makes a failure that comes of the deadline one of the document.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return unreadable(ctx, err)
	}
	return err
}
