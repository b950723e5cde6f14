package bench

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"sessiond/internal/client"
	"sessiond/internal/testenv"
	"sessiond/llm"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/postgres"
	"sessiond/store/sqlite"
)

// database is a store to measure over.
type database struct {
	name string
	open func(b *testing.B) (st store.Store, where string)
}

func databases() []database {
	return []database{
		{"sqlite", func(b *testing.B) (store.Store, string) {
			b.Helper()
			dir := b.TempDir()
			st, err := sqlite.Open(b.Context(), "sqlite:"+filepath.Join(dir, "bench.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			return st, dir
		}},
		{"postgres", func(b *testing.B) (store.Store, string) {
			b.Helper()
			dsn := testenv.Postgres(b)
			st, err := postgres.Open(b.Context(), dsn, postgres.Options{})
			if err != nil {
				b.Fatal(err)
			}
			return st, dsn
		}},
	}
}

// stack is a server in this process.
type stack struct {
	sessions *session.Manager
	url      string
	where    string // the database's folder or DSN
}

func newStack(b *testing.B, db database, model llm.Model, options session.Options) *stack {
	b.Helper()
	st, where := db.open(b)
	options.Models = []string{"instant"}
	sessions, err := session.NewManager(st, model, options, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	edge, err := server.New(sessions, st, server.Options{
		Version: "bench", Limits: v1.DefaultLimits(), Registerer: registry, Gatherer: registry,
	}, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(edge.Handler())
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = edge.Shutdown(ctx)
		srv.Close()
		sessions.Close()
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	})
	return &stack{sessions: sessions, url: "ws" + strings.TrimPrefix(srv.URL, "http") + "/v1/rpc", where: where}
}

func (s *stack) dial(b *testing.B) *client.Conn {
	b.Helper()
	conn, err := client.Dial(b.Context(), s.url, client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	return conn
}

func create(b *testing.B, conn *client.Conn) string {
	b.Helper()
	var created v1.SessionResult
	if err := conn.Call(b.Context(), v1.MethodSessionCreate, map[string]any{"title": "bench"}, &created); err != nil {
		b.Fatal(err)
	}
	return created.Session.ID
}

// instant answers at once and tells when it was asked and when it had answered.
type instant struct {
	asked, answered func(session string, at time.Time)
}

func (m *instant) Stream(_ context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if m.asked != nil {
		m.asked(req.CacheKey, time.Now())
	}
	emit(llm.Delta{Kind: llm.DeltaText, Text: "Done."})
	if m.answered != nil {
		m.answered(req.CacheKey, time.Now())
	}
	return &llm.Response{Content: []message.Block{message.Text{Text: "Done."}}, Stop: llm.StopEnd}, nil
}

// waiting never answers: its session stays busy, so that messages are only stored.
type waiting struct{}

func (waiting) Stream(ctx context.Context, _ *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// text is a message of a usual size.
var text = strings.Repeat("What does this function return? ", 8)

func send(ctx context.Context, conn *client.Conn, id string) error {
	return conn.Call(ctx, v1.MethodMessageSend, map[string]any{"session_id": id, "content": text}, nil)
}

func eventOf(n client.Notification) (v1.Event, bool) {
	var e v1.Event
	if n.Method != v1.NotifyEvent {
		return e, false
	}
	return e, json.Unmarshal(n.Params, &e) == nil
}
