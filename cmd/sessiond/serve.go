package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.uber.org/zap"

	"sessiond/configs"
	"sessiond/server"
	"sessiond/store"
	"sessiond/web"
)

const (
	// drainTimeout is how long running calls may take when the server stops; model
	// calls are cut off and repeated at the next start.
	drainTimeout = 5 * time.Second
	// headerTimeout bounds reading a request's header.
	headerTimeout = 10 * time.Second
	// requestTimeout bounds reading a whole request, and how long a connection stays
	// open for the next one. A WebSocket has its own timeouts.
	requestTimeout = 30 * time.Second
	// purgeInterval is how often expired keys and tickets are removed.
	purgeInterval = 10 * time.Minute
)

func (p *program) loadConfig(name string, args []string) (configs.Config, error) {
	fs := p.flags(name)
	file := fs.String("config", "", "settings file (YAML)")
	if err := parse(fs, args, 0); err != nil {
		return configs.Config{}, err
	}
	return p.load(*file)
}

// load reads the settings and has everything checked that can be before anything starts.
func (p *program) load(file string) (configs.Config, error) {
	return configs.Load(file, p.environ, checkContext)
}

// serve runs the server until ctx ends.
func (p *program) serve(ctx context.Context, args []string) error {
	cfg, err := p.loadConfig("serve", args)
	if err != nil {
		return err
	}
	log := newLogger(cfg.Log, p.stderr)
	defer flush(log)
	cfg.LLM = cfg.LLM.Resolved(p.environ)
	models, err := pickModels(cfg.LLM, log)
	if err != nil {
		return err
	}
	options, err := withContext(sessionOptions(cfg, models.names), cfg, models)
	if err != nil {
		return err
	}
	if err := announceContext(options, log); err != nil {
		return err
	}
	edge, err := edgeOptions(cfg)
	if err != nil {
		return err
	}
	s, err := start(ctx, parts{
		listen: cfg.Listen, databaseURL: string(cfg.DatabaseURL), models: models, options: options, log: log, edge: edge,
	})
	if err != nil {
		return err
	}
	p.announce(cfg, models, s, log)
	purged := make(chan struct{})
	purgeCtx, stopPurge := context.WithCancel(ctx)
	go func() { defer close(purged); purge(purgeCtx, s.store, log) }()

	select {
	case err = <-s.failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		log.Info("stopping")
	}
	stopPurge()
	<-purged
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, s.stop(drain))
}

// announce says once what is running and whether it costs money.
func (p *program) announce(cfg configs.Config, models models, s *stack, log *zap.Logger) {
	addr := s.http.Addr
	log.Info("ready",
		zap.String("url", "http://"+addr+"/"), zap.String("version", version), zap.Stringer("database", cfg.DatabaseURL),
		zap.String("provider", string(models.provider)), zap.Strings("models", models.names), zap.String("calls_cost", models.cost),
		zap.Bool("authentication", len(cfg.Auth.Tokens) > 0), zap.Int("unfinished_sessions", s.recovered))
	if cfg.Log.Format == configs.FormatConsole {
		_, _ = fmt.Fprintf(p.stdout, "sessiond is ready: open http://%s/ in a browser, or try: %s\n", addr, example(addr))
	}
	if p.listening != nil {
		p.listening(addr)
	}
}

// example is a command that talks to the server that has just started.
func example(addr string) string {
	name := os.Args[0]
	if "ws://"+addr+"/v1/rpc" == defaultURL {
		return name + ` send "hello"`
	}
	return name + " send --url http://" + addr + ` "hello"`
}

// purge removes expired keys and tickets from time to time.
func purge(ctx context.Context, st store.Store, log *zap.Logger) {
	ticker := time.NewTicker(purgeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			keys, err := st.PurgeKeys(ctx, now)
			tickets, err2 := st.PurgeTickets(ctx, now)
			if err := errors.Join(err, err2); err != nil && ctx.Err() == nil {
				log.Warn("expired rows can't be removed", zap.Error(err))
			} else {
				log.Debug("expired rows removed", zap.Int64("keys", keys), zap.Int64("tickets", tickets))
			}
		}
	}
}

func edgeOptions(cfg configs.Config) (server.Options, error) {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return server.Options{}, fmt.Errorf("listen: %w", err)
	}
	opts := server.Options{
		Version: version, Limits: wireLimits(cfg.Server.Limits), Tokens: make(map[[32]byte]string),
		AllowedOrigins: cfg.Server.AllowedOrigins, AllowedHosts: cfg.Server.AllowedHosts, ListenHost: host,
	}
	for _, t := range cfg.Auth.Tokens {
		digest, err := hex.DecodeString(string(t.SHA256))
		if err != nil || len(digest) != sha256.Size {
			return opts, fmt.Errorf("auth.tokens: the digest of owner %q is no SHA-256", t.Owner)
		}
		opts.Tokens[[32]byte(digest)] = t.Owner
	}
	if cfg.Server.Console {
		opts.Console = web.Console()
	}
	return opts, nil
}
