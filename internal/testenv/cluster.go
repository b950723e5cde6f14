package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	superuser    = "postgres"
	startRetries = 3 // a port may be taken between choosing and using it
	stopTimeout  = 10 * time.Second
	readyPoll    = 20 * time.Millisecond
)

// Cluster is a running Postgres server with a data folder of its own, reachable
// from this machine only, without a password. fsync and synchronous_commit are on.
type Cluster struct {
	folder *folder
	port   int
	server *exec.Cmd
	exited chan struct{} // closed when the server has ended
}

// StartCluster creates a cluster and waits until it answers. It returns
// [ErrNoPostgres] if there is no Postgres on this machine. The caller must call
// [Cluster.Stop]. It blocks for one to three seconds.
func StartCluster(ctx context.Context) (*Cluster, error) {
	programs, err := findBinaries()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	folder, err := newFolder(os.TempDir())
	if err != nil {
		return nil, err
	}
	cluster, err := startIn(ctx, folder, programs)
	if err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	return cluster, nil
}

func startIn(ctx context.Context, folder *folder, programs binaries) (*Cluster, error) {
	owner, err := folder.handOver()
	if err != nil {
		return nil, err
	}
	if err := initialise(ctx, folder, programs.initdb, owner); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		cluster, err := launch(ctx, folder, programs.postgres, owner)
		if err == nil || try == startRetries || ctx.Err() != nil {
			return cluster, err
		}
	}
}

func initialise(ctx context.Context, folder *folder, initdb string, owner *account) error {
	cmd := exec.CommandContext(ctx, initdb, //nolint:gosec // the program was looked for by name
		"--pgdata="+folder.data(), "--username="+superuser, "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--lc-ctype="+utf8Locale, "--no-sync")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	prepare(cmd, folder, owner)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output.String())
	}
	return nil
}

// launch starts the server on a free port and waits until it answers.
func launch(ctx context.Context, folder *folder, postgres string, owner *account) (*Cluster, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(folder.log())
	if err != nil {
		return nil, fmt.Errorf("start Postgres: %w", err)
	}
	defer log.Close() //nolint:errcheck // the server has its own handle
	// The server must not end with ctx, which is about starting it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), postgres, //nolint:gosec // as above
		"-D", folder.data(), "-p", strconv.Itoa(port), "-k", folder.path,
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200")
	cmd.Stdout, cmd.Stderr = log, log
	prepare(cmd, folder, owner)
	cluster := &Cluster{folder: folder, port: port, server: cmd, exited: make(chan struct{})}
	if err := cluster.run(); err != nil {
		return nil, fmt.Errorf("start Postgres: %w", err)
	}
	if err := cluster.waitReady(ctx); err != nil {
		return nil, errors.Join(err, cluster.halt())
	}
	return cluster, nil
}

// prepare makes cmd run as owner, in the folder, untouched by the variables of a
// Postgres user, and end with this process.
func prepare(cmd *exec.Cmd, folder *folder, owner *account) {
	cmd.Dir = folder.path // the working folder may be closed to owner
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	cmd.SysProcAttr = childAttributes(owner)
}

// run starts the server. The thread that starts it must live as long as this
// process, because the kernel takes the end of that thread for the end of the
// parent; so one goroutine keeps a thread for itself until the server has ended.
func (c *Cluster) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.exited)
		err := c.server.Start()
		started <- err
		if err == nil {
			_ = c.server.Wait() // how it ended is in its log
		}
	}()
	return <-started
}

// waitReady asks through the socket in the folder: whoever answers there is this
// server, while a port may be another's.
func (c *Cluster) waitReady(ctx context.Context) error {
	socket := fmt.Sprintf("host=%s port=%d user=%s dbname=postgres", c.folder.path, c.port, superuser)
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		conn, err := pgx.Connect(ctx, socket)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for Postgres: %w: %w\n%s", ctx.Err(), err, c.folder.readLog())
		case <-c.exited:
			return fmt.Errorf("Postgres ended at once: %s", c.folder.readLog())
		case <-ticker.C:
		}
	}
}

// URL returns the address of the server as its superuser.
func (c *Cluster) URL() string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.User(superuser),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return address.String()
}

// Stop ends the server, whoever is connected, and removes its data.
func (c *Cluster) Stop() error {
	return errors.Join(c.halt(), c.folder.remove())
}

// halt ends the server without the care that data worth keeping would need.
func (c *Cluster) halt() error {
	for _, signal := range []os.Signal{syscall.SIGQUIT, os.Kill} {
		if err := c.server.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop Postgres: %w", err)
		}
		timeout := time.NewTimer(stopTimeout)
		defer timeout.Stop()
		select {
		case <-c.exited:
			return nil
		case <-timeout.C:
		}
	}
	return errors.New("stop Postgres: it does not end")
}

func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	if err := listener.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return strconv.Atoi(port)
}
