package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"sessiond/store/storetest"
)

// BenchmarkCommit compares with the least any durable store can do: write the same
// bytes to the end of a file and flush it, one caller after the other.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ours := storetest.Commits(b, open(b, newURL(b)), callers)
			storetest.Alternate(b, ours, flushLoop(b, callers))
		})
	}
}

func flushLoop(b *testing.B, callers int) []storetest.Committer {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "flushed"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	record := []byte(storetest.Body + storetest.State)
	var mu sync.Mutex
	list := make([]storetest.Committer, callers)
	for i := range list {
		list[i] = func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if _, err := f.Write(record); err != nil {
				return err
			}
			return syscall.Fdatasync(int(f.Fd()))
		}
	}
	return list
}
