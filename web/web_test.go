package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sessiond/web"
)

func get(t *testing.T, address string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	web.Console().ServeHTTP(w, r)
	return w
}

func TestPage(t *testing.T) {
	w := get(t, "/")
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("status %d, type %s", w.Code, w.Header().Get("Content-Type"))
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	if origin := w.Header().Get("Access-Control-Allow-Origin"); origin != "" {
		t.Errorf("pages of %q may read the page", origin)
	}
	for _, address := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		if got := get(t, address[1]); got.Code != http.StatusOK {
			t.Errorf("the page needs %s: status %d", address[1], got.Code)
		}
	}
	for _, address := range []string{"/index.html", "/assets/", "/assets/index.html", "/assets/client", "/assets/client/README.md", "/assets/../web.go"} {
		if got := get(t, address); got.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", address, got.Code)
		}
	}
}

var imported = regexp.MustCompile(`(?m)^(?:import|export)[^;']*from '([^']+)';`)

// TestModules loads what others import, and everything that these import, as a browser
// of another origin does.
func TestModules(t *testing.T) {
	seen := make(map[string]bool)
	var follow func(address string)
	follow = func(address string) {
		if seen[address] {
			return
		}
		seen[address] = true
		w := get(t, address)
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != "text/javascript; charset=utf-8" || h.Get("Access-Control-Allow-Origin") != "*" {
			t.Fatalf("%s: status %d, headers %v", address, w.Code, h)
		}
		for _, m := range imported.FindAllStringSubmatch(w.Body.String(), -1) {
			if !strings.HasPrefix(m[1], ".") {
				t.Errorf("%s imports %s, which no browser finds", address, m[1])
			}
			follow(path.Join(path.Dir(address), m[1]))
		}
	}
	follow("/assets/client.js")
	follow("/assets/rtc-token-usage.js")
	for _, folder := range []string{"client", "widget"} {
		err := filepath.WalkDir(folder, func(name string, entry os.DirEntry, err error) error {
			if err == nil && path.Ext(name) == ".js" && !seen["/assets/"+filepath.ToSlash(name)] {
				t.Errorf("%s is not part of any module that is served", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestUnchangedFilesAreNotSentAgain(t *testing.T) {
	first := get(t, "/assets/client.js")
	again := get(t, "/assets/client.js", "If-None-Match", first.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("status %d with %d bytes", again.Code, again.Body.Len())
	}
	if other := get(t, "/assets/client/client.js"); other.Header().Get("ETag") == first.Header().Get("ETag") {
		t.Error("two files have one tag")
	}
}
