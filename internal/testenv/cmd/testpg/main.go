// Command testpg runs a command with a throwaway Postgres server:
//
//	go run ./internal/testenv/cmd/testpg -- go test ./...
//
// The command finds the server in SESSIOND_TEST_DATABASE_URL. If that is set
// already, no server is started. Interrupts are passed on; the server is stopped
// when the command ends, whose exit code is testpg's own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"sessiond/internal/testenv"
)

// exitUnable is the code for what went wrong before or after the command.
const exitUnable = 125

func main() {
	code, err := run(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testpg:", err)
	}
	os.Exit(code)
}

// run runs the command that args name, with a server if there is none yet.
func run(ctx context.Context, args []string) (int, error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return exitUnable, errors.New("usage: testpg -- COMMAND [ARGUMENT…]")
	}
	// From here on an interrupt ends the command, not this process, which has a
	// server to stop.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	if os.Getenv(testenv.DatabaseVariable) != "" {
		return runCommand(ctx, args, os.Environ(), signals)
	}
	cluster, err := testenv.StartCluster(ctx)
	if err != nil {
		return exitUnable, err
	}
	environ := append(os.Environ(), testenv.DatabaseVariable+"="+cluster.URL())
	code, err := runCommand(ctx, args, environ, signals)
	if stopErr := cluster.Stop(); stopErr != nil {
		return max(code, exitUnable), errors.Join(err, stopErr)
	}
	return code, err
}

// runCommand runs the command and passes signals on until it has ended.
func runCommand(ctx context.Context, args, environ []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the command is what this program is for
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, environ
	if err := cmd.Start(); err != nil {
		return exitUnable, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			_ = cmd.Process.Signal(sig) // it may have ended just now
		case err := <-ended:
			return exitCode(err)
		}
	}
}

// exitCode turns the end of a command into what a shell would report.
func exitCode(err error) (int, error) {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		if err != nil {
			return exitUnable, err
		}
		return 0, nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
