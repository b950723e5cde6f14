// Package web holds what the server shows a browser: for now a plain page to try a
// session out with. Everything is embedded, nothing is fetched from elsewhere, and the
// Content-Security-Policy forbids both.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed console
var files embed.FS

// policy lets the page load its own files and connect to its own server only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Console returns a handler for / and /assets/. It panics if the embedded files are
// not there, which no build can lead to.
func Console() http.Handler {
	root, err := fs.Sub(files, "console")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, root, "index.html") })
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(root)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		mux.ServeHTTP(w, r)
	})
}
