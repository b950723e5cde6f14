package sqlite

import (
	"path/filepath"
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
			scan := strings.HasPrefix(step, "SCAN ") && !strings.Contains(step, "json_each") &&
				!strings.Contains(step, "INDEX turns_open")
			if scan || strings.Contains(step, "TEMP B-TREE") && !sorted {
				t.Errorf("%s\nis planned as\n%s", q.text, strings.Join(plan, "\n"))
			}
		}
	}
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
