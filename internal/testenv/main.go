package testenv

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Main runs the tests of a process, stops the cluster that they may have started,
// and exits. A package whose tests call [Postgres] has
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) { os.Exit(Runner{M: m}.Run()) }

// Runner is [Main] for those that want to exit themselves, such as
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(testenv.Runner{M: m}) }
type Runner struct{ M *testing.M }

// Run runs the tests, stops the cluster, and returns the code to exit with.
func (r Runner) Run() int {
	code := r.M.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		code = max(code, 1)
	}
	return code
}

// shared is the cluster of this process. Its zero value is ready.
//
//nolint:gochecknoglobals // nothing else that every test can reach lives as long as the process
var shared lazyCluster

// lazyCluster is a cluster that the first who needs it starts.
type lazyCluster struct {
	mu      sync.Mutex
	cluster *Cluster
	err     error // of the one attempt to start
}

// start returns the cluster's URL, starting it if need be; callers wait for the
// one who does. A failure is final: it would only be repeated.
func (l *lazyCluster) start(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cluster == nil && l.err == nil {
		// The cluster outlives the test that happens to be first.
		l.cluster, l.err = StartCluster(context.WithoutCancel(ctx))
	}
	if l.err != nil {
		return "", l.err
	}
	return l.cluster.URL(), nil
}

func (l *lazyCluster) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cluster == nil {
		return nil
	}
	err := l.cluster.Stop()
	l.cluster = nil
	return err
}
