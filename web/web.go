// Package web holds what the server shows a browser: a page to try a session out with,
// the JavaScript client, and the widget that shows how full a session's context is.
// Everything is embedded, nothing is fetched from elsewhere, and the page's
// Content-Security-Policy forbids both.
//
// The folders are served as they are, under /assets/client/, /assets/console/ and
// /assets/widget/; so their modules find each other here as they do on disk. Pages of
// other origins may import them. They have no secrets: what a page may do with a server
// is decided where it connects.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:generate go run ./client/internal/generate

//go:embed console client/client.js client/lib/*.js widget/rtc-token-usage.js widget/lib/*.js
var files embed.FS

// policy lets the page load its own files and connect to its own server only. Pictures of
// conversations are in messages (data:) or were chosen by whoever looks at them (blob:).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Console returns a handler for / and /assets/. It panics if the embedded files can't be
// read, which no build can lead to.
func Console() http.Handler {
	pages, err := load()
	if err != nil {
		panic(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		f.serve(w, r)
	})
}

// entries are the modules that others import. Each has a short address, too.
func entries() []string { return []string{"client/client.js", "widget/rtc-token-usage.js"} }

// load reads everything that is served, by path.
func load() (map[string]*file, error) {
	pages := make(map[string]*file)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		pages[address(name)] = newFile(name, content, !strings.HasPrefix(name, "console/"))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the embedded files: %w", err)
	}
	for _, name := range entries() {
		short := "/assets/" + path.Base(name)
		pages[short] = newFile(short, fmt.Appendf(nil, "export * from './%s';\n", name), true)
	}
	return pages, nil
}

// address is where an embedded file is served.
func address(name string) string {
	if name == "console/index.html" {
		return "/"
	}
	return "/assets/" + name
}

// file is an embedded file as it is sent.
type file struct {
	content     []byte
	contentType string
	etag        string
	public      bool // pages of other origins may read it
}

func newFile(name string, content []byte, public bool) *file {
	digest := sha256.Sum256(content)
	contentType := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".js" {
		contentType = "text/javascript; charset=utf-8" // whatever this machine thinks: else no module is loaded
	}
	return &file{
		content: content, contentType: contentType, public: public,
		etag: `"` + base64.RawURLEncoding.EncodeToString(digest[:12]) + `"`,
	}
}

// serve has browsers ask each time whether they have the newest version, which costs them
// no more than the question.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if f.public {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	} else {
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
