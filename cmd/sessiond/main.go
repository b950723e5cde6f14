// Command sessiond serves LLM sessions over JSON-RPC on WebSocket. Without arguments
// it serves; see `sessiond help` for the rest.
//
// This package wires the others together: it is the only one that reads the
// environment and picks the database and the provider. A program is a value with its
// streams and environment given, so that tests run the very same code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"go.uber.org/zap"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ()}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// program is one run of the command.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	// listening is told the address when the server is ready; nil outside tests.
	listening func(addr string)
}

// command is one of the program's subcommands.
type command struct {
	name, args, summary string
	run                 func(p *program, ctx context.Context, args []string) error
}

func commands() []command {
	return []command{
		{"serve", "[--config FILE]", "run the server (the default)", (*program).serve},
		{"config", "[--config FILE] [--sample]", "print the settings in force, secrets hidden, or a commented sample", (*program).config},
		{"migrate", "[--config FILE] [--status]", "bring the database up to date, or show where it is", (*program).migrate},
		{"send", "[--url URL] [--session ID] [--file PATH]… TEXT…", "send a message and print the answer as it comes", (*program).send},
		{"chat", "[--url URL] [--session ID] [--model NAME]", "talk with a session on the terminal, or line by line from a pipe", (*program).chat},
		{"replay", "[flags] FILE…", "play recorded conversations through a server", (*program).replay},
		{"fake-llm", "[--listen ADDR] [--script FILE] [--window N] [--think]", "serve strict fakes of the model providers' APIs, for demonstrations and tests", (*program).fakeLLM},
		{"health", "[--config FILE]", "ask a running server whether it is healthy", (*program).health},
		{"version", "", "print the version", (*program).version},
	}
}

// usageError is a wrong call of the program; it ends with code 2.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func (p *program) run(ctx context.Context, args []string) int {
	name := "serve"
	if len(args) > 0 && (len(args[0]) == 0 || args[0][0] != '-') {
		name, args = args[0], args[1:]
	}
	if name == "help" || len(args) > 0 && (args[0] == "-h" || args[0] == "--help") && name == "serve" {
		p.help()
		return 0
	}
	for _, c := range commands() {
		if c.name == name {
			return p.exit(c.run(p, ctx, args))
		}
	}
	return p.exit(&usageError{fmt.Sprintf("unknown command %q; sessiond help lists them", name)})
}

// exit reports an error to a person and returns the exit code.
func (p *program) exit(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(p.stderr, "sessiond: %v\n", err)
		return 2
	default:
		_, _ = fmt.Fprintf(p.stderr, "sessiond: %v\n", err)
		return 1
	}
}

func (p *program) help() {
	_, _ = fmt.Fprint(p.stdout, "sessiond keeps LLM conversations and serves them over JSON-RPC on WebSocket.\n\n")
	for _, c := range commands() {
		_, _ = fmt.Fprintf(p.stdout, "  sessiond %s %s\n        %s\n", c.name, c.args, c.summary)
	}
	_, _ = fmt.Fprint(p.stdout, "\nSettings come from the file and from SESSIOND_… variables; sessiond config --sample explains them.\n")
}

// flags returns a flag set that reports to the program's own stream.
func (p *program) flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet("sessiond "+name, flag.ContinueOnError)
	fs.SetOutput(p.stderr)
	return fs
}

// parse reads flags and refuses positional arguments beyond atMost.
func parse(fs *flag.FlagSet, args []string, atMost int) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return &usageError{err.Error()}
	}
	if atMost >= 0 && fs.NArg() > atMost {
		return &usageError{fmt.Sprintf("%s: unexpected argument %q", fs.Name(), fs.Arg(atMost))}
	}
	return nil
}

func (p *program) version(context.Context, []string) error {
	_, err := fmt.Fprintf(p.stdout, "sessiond %s (%s)\n", version, goVersion())
	return err
}

func goVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.GoVersion
	}
	return "unknown Go"
}

// flush writes what a logger holds back; terminals do not support it and say so.
func flush(log *zap.Logger) { _ = log.Sync() }
