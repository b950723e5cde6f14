package sqlite_test

import (
	"context"
	"testing"

	"sessiond/store"
	"sessiond/store/sqlite"
	"sessiond/store/storetest"
)

func TestReopen(t *testing.T) { storetest.RunReopen(t, reopener) }

func reopener(t *testing.T) func() store.Store {
	t.Helper()
	url := newURL(t)
	return func() store.Store { return open(t, url) }
}

func TestCrash(t *testing.T) {
	storetest.RunCrash(t,
		func() string { return newURL(t) },
		func(ctx context.Context, url string) (store.Store, error) {
			return sqlite.Open(ctx, url, sqlite.Options{})
		})
}
