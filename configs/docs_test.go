package configs

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented is a row of the table of settings in docs/operations.md.
type documented struct{ path, value string }

func settingsTable(t *testing.T) []documented {
	t.Helper()
	text := readRepositoryFile(t, "docs/operations.md")
	_, text, found := strings.Cut(text, "| setting | default | meaning |\n|---|---|---|\n")
	if !found {
		t.Fatal("docs/operations.md has no table of settings")
	}
	row := regexp.MustCompile("^\\| `([a-z0-9_.]+)` \\| (?:`(.+)`|empty) \\| .+ \\|$")
	var rows []documented
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := row.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if cells == nil {
			t.Fatalf("docs/operations.md: not a row of the table of settings: %s", line)
		}
		rows = append(rows, documented{path: cells[1], value: cells[2]})
	}
	return rows
}

func TestOperationsPageListsEverySettingWithItsDefault(t *testing.T) {
	defaults := Default()
	leaves := leavesOf(rootOf(&defaults), "")
	var want, got []string
	for _, leaf := range leaves {
		want = append(want, leaf.path)
	}
	rows := settingsTable(t)
	for _, row := range rows {
		got = append(got, row.path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("settings (-code +docs):\n%s", diff)
	}
	for i, row := range rows {
		if leaves[i].value.Kind() == reflect.Map { // has no form in the environment
			if row.value != "{}" || leaves[i].value.Len() > 0 {
				t.Errorf("%s: docs/operations.md says %q", row.path, row.value)
			}
			continue
		}
		value := reflect.New(leaves[i].value.Type()).Elem()
		if err := setText(value, strings.TrimSuffix(strings.TrimPrefix(row.value, "["), "]")); err != nil {
			t.Errorf("%s: default %q: %v", row.path, row.value, err)
			continue
		}
		if !reflect.DeepEqual(value.Interface(), leaves[i].value.Interface()) {
			t.Errorf("%s: docs/operations.md says %q", row.path, row.value)
		}
	}
}

func TestDocsNameOnlyTargetsThatExist(t *testing.T) {
	makefile := readRepositoryFile(t, "Makefile")
	named := regexp.MustCompile("(?m)(?:`|^)make ([a-z][a-z0-9-]*)")
	for _, page := range []string{"README.md", "docs/architecture.md", "docs/operations.md"} {
		for _, match := range named.FindAllStringSubmatch(readRepositoryFile(t, page), -1) {
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s names make %s, which does not exist", page, match[1])
			}
		}
	}
}
