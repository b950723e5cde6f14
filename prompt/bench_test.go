package prompt_test

import (
	"os"
	"testing"

	"sessiond/llm"
	"sessiond/prompt"
)

// BenchmarkBuild checks the longest recorded conversation, 1.4 MB in 937 messages, as
// it is done before each model call.
func BenchmarkBuild(b *testing.B) {
	const file = "../../shared/transcripts/pi-5bfd1e03f7.jsonl"
	if _, err := os.Stat(file); err != nil {
		b.Skip("no transcripts next to the repository")
	}
	tools, msgs := transcript(b, file)
	req := llm.Request{Tools: tools, Messages: msgs[:len(msgs)-1]}
	b.ReportAllocs()
	for b.Loop() {
		prompt.Build(req)
	}
}
