package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"sessiond/internal/testenv"
	"sessiond/store"
	"sessiond/store/postgres"
	"sessiond/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testenv.Runner{M: m}) }

func open(tb testing.TB, url string) *postgres.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), url, postgres.Options{})
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

func TestStore(t *testing.T) { storetest.Run(t, opener) }

func opener(t *testing.T) store.Store {
	t.Helper()
	return open(t, testenv.Postgres(t))
}
