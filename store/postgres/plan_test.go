package postgres

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sessiond/internal/testenv"
)

// TestPlans keeps every statement on the right index: another plan would be quick in
// all tests and slow in service.
func TestPlans(t *testing.T) {
	s, err := Open(t.Context(), testenv.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	queries := []string{
		sessionByID, sessionsPage, sessionsByStatus, unfinished, turnByID, turnsPage, openTurns, keyByScope, purgeKeys,
		entriesUp, entriesDown, entriesUpWithin, entriesDownWithin, entryByMessage, dropExpiredKeys,
		headByID, buryRow, dropEntries, dropTurns, dropMemories, dropKeys, wasThere,
		memoryByID, memoriesPage, putMemory, dropMemory, putKey, limits, putLimit,
		putTexts, indexedSeq, searchTexts, dropTexts,
	}
	queries = slices.AppendSeq(queries, maps.Values(s.statements))
	for _, q := range queries {
		plan := explain(t, s, q)
		list := q == sessionsPage || q == sessionsByStatus
		if strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "sessions_list") != list {
			t.Errorf("%s\nis planned as\n%s", q, plan)
		}
	}
}

// explain returns the plan that the store's connections use for a statement.
func explain(t *testing.T, s *Store, query string) string {
	t.Helper()
	conn, err := s.read.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	st, err := conn.Conn().Prepare(t.Context(), "explained", query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	nulls := strings.Repeat("NULL, ", len(st.ParamOIDs))
	call := "EXPLAIN EXECUTE explained"
	if nulls != "" {
		call += "(" + strings.TrimSuffix(nulls, ", ") + ")"
	}
	rows, err := conn.Query(t.Context(), call, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if err := conn.Conn().Deallocate(t.Context(), "explained"); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
