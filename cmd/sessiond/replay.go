package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"sessiond/configs"
	"sessiond/internal/client"
	"sessiond/internal/replay"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
)

// replay plays recorded conversations through a server of its own and prints a table.
func (p *program) replay(ctx context.Context, args []string) error {
	fs := p.flags("replay")
	database := fs.String("database", "", "database URL to replay into; a replay that was cut off goes on there (default: a temporary SQLite file)")
	through := fs.String("through", "", "anthropic or openai: put that provider's client and a strict fake of its API between server and recording")
	thinking := fs.Bool("thinking", false, "with --through anthropic: answers that call tools begin with signed thinking")
	level := fs.String("log", string(configs.LevelWarn), "log level")
	if err := parse(fs, args, -1); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return &usageError{"replay: no files; docs/replay.md describes their format"}
	}
	conversations, err := readConversations(fs.Args())
	if err != nil {
		return err
	}
	provider, err := newReplayProvider(ctx, *through, *thinking, conversations)
	if err != nil {
		return err
	}
	defer provider.close()
	if *database == "" {
		dir, err := os.MkdirTemp("", "sessiond-replay-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		*database = "sqlite:" + filepath.Join(dir, "replay.db")
	}
	s, err := p.startReplay(ctx, *database, provider, conversations, configs.LogLevel(*level))
	if err != nil {
		return err
	}
	err = p.playAll(ctx, "ws://"+s.http.Addr+"/v1/rpc", conversations)
	err = errors.Join(err, p.judge(provider, s.metrics))
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, s.stop(drain))
}

func readConversations(files []string) ([]*replay.Conversation, error) {
	var all []*replay.Conversation
	seen := make(map[string]string)
	for _, name := range files {
		c, err := readConversation(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if other, dup := seen[c.ID]; dup {
			return nil, fmt.Errorf("%s: has the id %q of %s", name, c.ID, other)
		}
		seen[c.ID] = name
		all = append(all, c)
	}
	return all, nil
}

func readConversation(name string) (*replay.Conversation, error) {
	f, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return replay.Read(f)
}

// startReplay starts a server on a free loopback port whose models are the recordings.
func (p *program) startReplay(ctx context.Context, database string, provider *replayProvider, conversations []*replay.Conversation, level configs.LogLevel) (*stack, error) {
	cfg := configs.Default()
	cfg.Log.Level = level
	m := models{provider: "replay", model: provider.model}
	for _, c := range conversations {
		m.names = append(m.names, c.ID)
	}
	options := sessionOptions(cfg, m.names)
	options.MaxRoundsPerTurn = maxReplayRounds
	options.Thinking = provider.thinking
	return start(ctx, parts{
		listen: "127.0.0.1:0", databaseURL: database, models: m, options: options, log: newLogger(cfg.Log, p.stderr),
		edge: server.Options{Version: version, Limits: v1.DefaultLimits()},
	})
}

// maxReplayRounds is above what any recorded turn has.
const maxReplayRounds = 10_000

// playAll plays one conversation after the other and prints a row for each.
func (p *program) playAll(ctx context.Context, url string, conversations []*replay.Conversation) error {
	conn, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "CONVERSATION\tMESSAGES\tTOOL CALLS\tENTRIES\tTIME\tSESSION")
	var sum replay.Result
	began := now()
	for _, c := range conversations {
		at := now()
		r, err := replay.Play(ctx, conn, c)
		if err != nil {
			return errors.Join(err, table.Flush())
		}
		note := ""
		if r.Resumed {
			note = " (resumed)"
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s%s\n", r.ID, r.Messages, r.ToolCalls, r.Entries, now().Sub(at).Round(time.Millisecond), r.SessionID, note)
		sum.Messages += r.Messages
		sum.ToolCalls += r.ToolCalls
		sum.Entries += r.Entries
	}
	_, _ = fmt.Fprintf(table, "%d conversations\t%d\t%d\t%d\t%s\t\n", len(conversations), sum.Messages, sum.ToolCalls, sum.Entries, now().Sub(began).Round(time.Millisecond))
	return table.Flush()
}

func now() time.Time {
	return time.Now() //nolint:forbidigo // how long a replay takes is real time
}
