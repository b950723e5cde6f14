package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"sessiond/ingest/pdfium"
	"sessiond/server"
	"sessiond/session"
	"sessiond/store"
)

// stack is a server with everything under it, listening.
type stack struct {
	store     store.Store
	pdf       io.Closer // what reads PDFs
	sessions  *session.Manager
	edge      *server.Server
	listener  net.Listener
	http      *http.Server
	metrics   prometheus.Gatherer
	recovered int
	failed    chan error // why serving ended, once
	log       *zap.Logger
}

// parts are what a stack is made from.
type parts struct {
	listen      string
	databaseURL string
	models      models
	options     session.Options
	edge        server.Options // without the registry, which start makes
	log         *zap.Logger
}

// start opens the database, listens, takes up unfinished turns and serves. Listening
// comes before recovery: a second server on the same port must not touch the turns of
// the first.
func start(ctx context.Context, p parts) (_ *stack, err error) {
	s := &stack{log: p.log, failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", p.listen); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if s.store, err = openStore(ctx, p.databaseURL); err != nil {
		return nil, err
	}
	reader := pdfium.New()
	s.pdf, p.options.PDF = reader, reader
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.metrics = registry
	p.options.Registerer, p.edge.Registerer, p.edge.Gatherer = registry, registry, registry
	if s.sessions, err = session.NewManager(s.store, p.models.model, p.options, p.log); err != nil {
		return nil, err
	}
	if s.edge, err = server.New(s.sessions, s.store, p.edge, p.log); err != nil {
		return nil, err
	}
	if s.recovered, err = s.sessions.Recover(ctx); err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Addr: s.listener.Addr().String(), Handler: s.edge.Handler(), ErrorLog: zap.NewStdLog(p.log.Named("http")),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout,
	}
	listener := s.listener
	s.listener = nil // the HTTP server closes it
	go func() {
		defer close(s.failed)
		s.failed <- s.http.Serve(listener)
	}()
	return s, nil
}

// stop lets go in order: no new requests, clients told, running calls answered until
// ctx ends, turns left for the next start.
func (s *stack) stop(ctx context.Context) error {
	if err := s.edge.Shutdown(ctx); err != nil {
		s.log.Warn("some calls were cut off", zap.Error(err))
	}
	err := s.http.Shutdown(ctx)
	for serving := range s.failed {
		if !errors.Is(serving, http.ErrServerClosed) {
			err = errors.Join(err, serving)
		}
	}
	return errors.Join(err, s.release())
}

func (s *stack) release() error {
	var errs []error
	if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	if s.sessions != nil {
		s.sessions.Close()
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.pdf != nil { // last: it waits for what is being read, and nothing waits for it
		errs = append(errs, s.pdf.Close())
	}
	return errors.Join(errs...)
}
