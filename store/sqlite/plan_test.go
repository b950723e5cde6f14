package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlans keeps every statement on an index: a scan would be quick in all tests and
// slow in service.
func TestPlans(t *testing.T) {
	s, err := Open(t.Context(), Scheme+filepath.Join(t.TempDir(), "test.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, q := range append(s.queries.list(), s.writer.list()...) {
		plan := explain(t, s, q.text)
		sorted := q.into == &s.queries.unfinished // sorts a few sessions, once at start
		for _, step := range plan {
			if scans(step) && q.into != &s.queries.limits || strings.Contains(step, "TEMP B-TREE") && !sorted {
				t.Errorf("%s\nis planned as\n%s", q.text, strings.Join(plan, "\n"))
			}
		}
	}
}

// scans reports whether a step reads all of something that may be large.
func scans(step string) bool {
	return strings.HasPrefix(step, "SCAN ") && !slices.ContainsFunc(
		[]string{"json_each", "CONSTANT ROW", "INDEX turns_open", "INDEX sessions_compacting"},
		func(small string) bool { return strings.Contains(step, small) })
}

// explain returns the steps of the plan for a statement.
func explain(t *testing.T, s *Store, text string) []string {
	t.Helper()
	rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, 12)...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
