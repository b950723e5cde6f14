package postgres_test

import (
	"context"
	"testing"

	"sessiond/internal/testenv"
	"sessiond/store"
	"sessiond/store/postgres"
	"sessiond/store/storetest"
)

func TestReopen(t *testing.T) { storetest.RunReopen(t, reopener) }

func reopener(t *testing.T) func() store.Store {
	t.Helper()
	url := testenv.Postgres(t)
	return func() store.Store { return open(t, url) }
}

func TestCrash(t *testing.T) {
	storetest.RunCrash(t,
		func() string { return testenv.Postgres(t) },
		func(ctx context.Context, url string) (store.Store, error) {
			return postgres.Open(ctx, url, postgres.Options{})
		})
}
