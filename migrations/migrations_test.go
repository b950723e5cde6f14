package migrations

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSameNumbers keeps the dialects in step: one number, one change, one name.
func TestSameNumbers(t *testing.T) {
	names := func(folder string) []string {
		entries, err := fs.ReadDir(files, folder)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if d := cmp.Diff(names("postgres"), names("sqlite")); d != "" {
		t.Errorf("files of the dialects differ (-postgres +sqlite):\n%s", d)
	}
}
