package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"sessiond/configs"
	"sessiond/store/postgres"
	"sessiond/store/sqlite"
)

// config prints the settings in force.
func (p *program) config(_ context.Context, args []string) error {
	fs := p.flags("config")
	file := fs.String("config", "", "settings file (YAML)")
	sample := fs.Bool("sample", false, "print a commented sample with every setting and its default")
	if err := parse(fs, args, 0); err != nil {
		return err
	}
	if *sample {
		_, err := io.WriteString(p.stdout, configs.Sample())
		return err
	}
	cfg, err := p.load(*file)
	if err != nil {
		return err
	}
	return cfg.WriteYAML(p.stdout)
}

// migrate brings the database up to date, or shows where it is.
func (p *program) migrate(ctx context.Context, args []string) error {
	fs := p.flags("migrate")
	file := fs.String("config", "", "settings file (YAML)")
	status := fs.Bool("status", false, "only show which migrations are applied")
	if err := parse(fs, args, 0); err != nil {
		return err
	}
	cfg, err := p.load(*file)
	if err != nil {
		return err
	}
	url := string(cfg.DatabaseURL)
	apply, show := postgres.Migrate, postgres.Status
	if strings.HasPrefix(url, "sqlite:") {
		apply, show = sqlite.Migrate, sqlite.Status
	}
	if !*status {
		if _, err := apply(ctx, url); err != nil {
			return err
		}
	}
	steps, err := show(ctx, url)
	if err != nil {
		return err
	}
	for _, step := range steps {
		applied := "pending"
		if !step.AppliedAt.IsZero() {
			applied = "applied " + step.AppliedAt.UTC().Format(time.RFC3339)
		}
		if _, err := fmt.Fprintf(p.stdout, "%5d  %-28s %s\n", step.Version, step.Name, applied); err != nil {
			return err
		}
	}
	return nil
}

// healthTimeout bounds asking a running server.
const healthTimeout = 3 * time.Second

// health asks the server that the same settings would start; for container checks.
func (p *program) health(ctx context.Context, args []string) error {
	cfg, err := p.loadConfig("health", args)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers with status %d", resp.StatusCode)
	}
	_, err = fmt.Fprintln(p.stdout, "ok")
	return err
}
