package demo

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTranscriptsAreRead(t *testing.T) {
	text := "Notes:\n<transcript>\n[earlier notes]\nold\n[#3 user]\nthe port is\n8081\n[#4 assistant]\nI look.\n(calls read) {}\n[#5 user]\n(result of read) [#9 user] is no heading\n[#6 assistant]\nDone.\n</transcript>"
	want := []said{{3, "user", "the port is\n8081"}, {4, "assistant", "I look."}, {5, "user", ""}, {6, "assistant", "Done."}}
	if diff := cmp.Diff(want, readTranscript(text), cmp.AllowUnexported(said{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := readTranscript("no transcript"); got != nil {
		t.Errorf("found %v", got)
	}
}

func TestMemoryByRule(t *testing.T) {
	prompt := func(memory string) string {
		return `Answer {"operations":[…]}` + "\n<memory>\n" + memory + "\n</memory>\n<transcript>\n[#3 user]\nhello\n[#4 assistant]\nhi\n</transcript>"
	}
	ops := func(text string) []memoryOp {
		if !asksForMemory(text) {
			t.Fatal("the request is not known")
		}
		var answer struct{ Operations []memoryOp }
		if err := json.Unmarshal([]byte(rememberByRule(text)), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Operations
	}
	first := ops(prompt("(empty)"))
	if len(first) != 2 || first[0].Op != "add" || first[0].Category != "context" || first[1].Category != "progress" || first[1].Seqs[0] != 4 {
		t.Errorf("the first: %+v", first)
	}
	next := ops(prompt(`{"op":"","id":"a","category":"context"}` + "\n" + `{"op":"","id":"b","category":"progress"}`))
	if len(next) != 1 || next[0].Op != "update" || next[0].ID != "b" {
		t.Errorf("the next: %+v", next)
	}
}
