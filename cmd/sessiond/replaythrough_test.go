package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// replayVariable set to "all" replays every recorded conversation, which takes minutes;
// make replay does it.
const replayVariable = "SESSIOND_TEST_REPLAY"

// Real conversations, played through a server with a provider's client at its other end,
// make only requests that the strictest fake takes and that nobody had to repair.
func TestReplayThroughFakes(t *testing.T) {
	files := someTranscripts(t)
	summary := regexp.MustCompile(`(?m)^([1-9][0-9]*) requests, 0 rejected, 0 repairs$`)
	for _, flags := range [][]string{
		{"--through", "anthropic"},
		{"--through", "anthropic", "--thinking"},
		{"--through", "openai"},
	} {
		t.Run(strings.Join(flags[1:], " "), func(t *testing.T) {
			var out strings.Builder
			p := &program{stdout: &out, stderr: t.Output()}
			if code := p.run(t.Context(), append(append([]string{"replay"}, flags...), files...)); code != 0 {
				t.Errorf("the replay ended with code %d", code)
			}
			found := summary.FindString(out.String())
			if found == "" {
				t.Errorf("not as it should be:\n%s", out.String())
			}
			t.Logf("%d conversations, %s", len(files), found)
		})
	}
}

// someTranscripts returns the files of all recorded conversations, or of some: short ones,
// whose rules are those of all, and a longer one.
func someTranscripts(t *testing.T) []string {
	t.Helper()
	files := transcripts(t)
	if os.Getenv(replayVariable) == "all" {
		return files
	}
	sizes := make(map[string]int64)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		sizes[file] = info.Size()
	}
	slices.SortFunc(files, func(a, b string) int { return int(sizes[a] - sizes[b]) })
	const short, longer = 12, 40 // the longer one is the 40th largest
	return append(files[:min(short, len(files)):short], files[max(0, len(files)-longer)])
}
