package sqlite_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"sessiond/store"
	"sessiond/store/sqlite"
	"sessiond/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, url string) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.Open(tb.Context(), url, sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

func newURL(tb testing.TB) string {
	tb.Helper()
	return sqlite.Scheme + filepath.Join(tb.TempDir(), "test.db")
}

func TestStore(t *testing.T) { storetest.Run(t, opener) }

func opener(t *testing.T) store.Store {
	t.Helper()
	return open(t, newURL(t))
}
