package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"sessiond/compaction"
	"sessiond/configs"
	"sessiond/internal/client"
	"sessiond/internal/replay"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
	"sessiond/session"
)

// replayFlags are what a replay is told.
type replayFlags struct {
	database string
	through  string
	thinking bool
	level    string
	compact  compactFlags
	cost     costFlags
}

// replay plays recorded conversations through a server of its own and prints a table.
func (p *program) replay(ctx context.Context, args []string) error {
	var f replayFlags
	fs := p.flags("replay")
	fs.StringVar(&f.database, "database", "", "database URL to replay into; a replay that was cut off goes on there (default: a temporary SQLite file)")
	fs.StringVar(&f.through, "through", "", "anthropic or openai: put that provider's client and a strict fake of its API between server and recording")
	fs.BoolVar(&f.thinking, "thinking", false, "with --through anthropic: answers that call tools begin with signed thinking")
	fs.StringVar(&f.level, "log", string(configs.LevelWarn), "log level")
	f.compact.register(fs)
	f.cost.register(fs)
	if err := parse(fs, args, -1); err != nil {
		return err
	}
	mode, err := f.mode(fs)
	if err != nil {
		return err
	}
	conversations, err := readConversations(fs.Args())
	if err != nil {
		return err
	}
	switch mode {
	case replayModeFacts:
		return p.replayFacts(ctx, &f)
	case replayModeCost:
		return p.replayCost(ctx, &f, conversations)
	case replayModeCompact:
		return p.replayCompact(ctx, &f, conversations)
	case replayModePlain:
	}
	return p.replayPlain(ctx, &f, conversations)
}

// replayPlain plays conversations that are never compacted.
func (p *program) replayPlain(ctx context.Context, f *replayFlags, conversations []*replay.Conversation) error {
	provider, err := newReplayProvider(ctx, f, replay.FakeOptions{Conversations: conversations})
	if err != nil {
		return err
	}
	defer provider.close()
	options := compaction.DefaultConfig()
	options.ContextTokensLimit = unlimitedTokens
	s, err := p.startReplay(ctx, f, provider, options)
	if err != nil {
		return err
	}
	err = p.playAll(ctx, s.url(), conversations)
	err = errors.Join(err, p.judge(provider, s.metrics))
	return errors.Join(err, s.end(ctx))
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

// replayServer is a server on a free loopback port.
type replayServer struct {
	*stack
	remove func() error // of its database, if that is a temporary one
}

func (s *replayServer) url() string { return "ws://" + s.http.Addr + "/v1/rpc" }

// end stops the server.
func (s *replayServer) end(ctx context.Context) error {
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(s.stop(drain), s.remove())
}

// startReplay starts a server whose models are the recordings.
func (p *program) startReplay(ctx context.Context, f *replayFlags, provider *replayProvider, limits compaction.Config) (*replayServer, error) {
	return p.startReplayWith(ctx, f, provider, limits, func(o *session.Options) {
		o.Now = provider.clock.Now
		o.ExtractMemory, o.MemoryTools = false, false // nothing but the recording is said
	})
}

// startReplayWith is startReplay with some options of sessions changed.
func (p *program) startReplayWith(ctx context.Context, f *replayFlags, provider *replayProvider, limits compaction.Config, change func(*session.Options)) (*replayServer, error) {
	cfg := configs.Default()
	cfg.Log.Level = configs.LogLevel(f.level)
	m := models{provider: configs.Provider(f.through), model: provider.model, names: provider.names}
	options, err := withContext(sessionOptions(cfg, m.names), cfg, m)
	if err != nil {
		return nil, err
	}
	options.MaxRoundsPerTurn = maxReplayRounds
	options.Thinking, options.Context = provider.thinking, limits
	change(&options)
	s := &replayServer{remove: func() error { return nil }}
	database := f.database
	if database == "" {
		dir, err := os.MkdirTemp("", "sessiond-replay-")
		if err != nil {
			return nil, err
		}
		s.remove = func() error { return os.RemoveAll(dir) }
		database = "sqlite:" + filepath.Join(dir, "replay.db")
	}
	s.stack, err = start(ctx, parts{
		listen: "127.0.0.1:0", databaseURL: database, models: m, options: options, log: newLogger(cfg.Log, p.stderr),
		edge: server.Options{Version: version, Limits: v1.DefaultLimits()},
	})
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// unlimitedTokens is a limit that no recording gets near.
const unlimitedTokens = 100_000_000

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

// replayClock is the real clock with the pauses of the recordings added. It is safe for
// concurrent use.
type replayClock struct{ rested atomic.Int64 }

// Now is the time on the server.
func (c *replayClock) Now() time.Time { return now().Add(time.Duration(c.rested.Load())) }

// longRest is how long a pause has to be to matter to anything.
const longRest = 5 * time.Minute

// rest lets time pass.
func (c *replayClock) rest(d time.Duration) {
	if d >= longRest {
		c.rested.Add(int64(d))
	}
}
