package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// madeUp writes a conversation of so many rounds, each with a call whose result has so many
// words, and returns its file. Its id is its name.
func madeUp(t *testing.T, id string, rounds, words int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"id":"` + id + `","system":"Be brief.","tools":[{"name":"read","input_schema":{"type":"object"}}]}` + "\n")
	say := func(role, block string) { b.WriteString(`{"role":"` + role + `","content":[` + block + "]}\n") }
	say("user", `{"type":"text","text":"Read all of it."}`)
	for i := range rounds {
		call := "call_" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		say("assistant", `{"type":"text","text":"Going on."},{"type":"tool_use","id":"`+call+`","name":"read","input":{"path":"`+call+`.txt"}}`)
		say("user", `{"type":"tool_result","tool_use_id":"`+call+`","content":"`+call+strings.Repeat(" word", words)+`"}`)
	}
	say("assistant", `{"type":"text","text":"Done."}`)
	file := filepath.Join(t.TempDir(), id+".jsonl")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A flag that would do nothing is refused, and the words name it and what it stands
// against.
func TestReplayRefusesFlagsThatWouldBeIgnored(t *testing.T) {
	file := madeUp(t, "short", 1, 1)
	for args, want := range map[string][]string{
		"--facts 5 --cost":                               {"--cost", "--facts"},
		"--compact --cost":                               {"--compact", "--cost"},
		"--compact --facts 5":                            {"--compact", "--facts"},
		"--facts -1":                                     {"--facts is at least 1"},
		"--facts 5":                                      {"--facts takes no files"},
		"--price-model nobody":                           {"--price-model goes with --cost"},
		"--compact --summary-mode long":                  {"--summary-mode goes with --cost"},
		"--compact --check=false":                        {"--check goes with --cost"},
		"--plot x.svg":                                   {"--plot goes with --cost"},
		"--sweep recovery=0":                             {"--sweep goes with --cost"},
		"--markdown":                                     {"--markdown goes with --cost"},
		"--flat-base":                                    {"--flat-base goes with --cost"},
		"--breakpoints=false":                            {"--breakpoints goes with --cost"},
		"--limit 9000":                                   {"--limit goes with --compact or --facts or --cost"},
		"--window 9000":                                  {"--window goes with --compact or --facts or --cost"},
		"--csv x.csv":                                    {"--csv goes with --compact or --cost"},
		"--chain 9":                                      {"--chain goes with --compact or --cost"},
		"--cost --database sqlite:x.db":                  {"--database goes with"},
		"--cost --summaries scripted":                    {"--summaries goes with --compact or --facts"},
		"--cost --chain -1":                              {"--chain is a number of tokens"},
		"--compact --window -1":                          {"--window is a number of tokens"},
		"--cost --sweep recovery=0 --csv x.csv":          {"--sweep and --csv"},
		"--cost --sweep recovery=0 --plot x.svg":         {"--sweep and --plot"},
		"--cost --sweep recovery=0 --breakpoints=false":  {"--sweep and --breakpoints=false"},
		"--cost --sweep recovery=0 --flat-base":          {"--sweep and --flat-base"},
		"--cost --sweep keep=1":                          {"keep"},
		"--cost --sweep landing_ratio=0.5,x":             {"landing_ratio: must be from 0.3 to 0.95", `"x"`},
		"--cost --sweep landing_ratio=2":                 {"landing_ratio: must be from 0.3 to 0.95", `"2"`},
		"--cost --sweep landing_ratio=0":                 {"landing_ratio: must be from 0.3 to 0.95", `"0"`},
		"--cost --sweep landing_ratio=NaN":               {"landing_ratio: must be from 0.3 to 0.95", `"NaN"`},
		"--cost --sweep recovery=-1":                     {"recovery: must be a whole number of tokens from 0 on", `"-1"`},
		"--cost --sweep recovery=99999999999999999999":   {"recovery: must be a whole number of tokens from 0 on"},
		"--cost --sweep recovery=many":                   {"recovery: must be a whole number of tokens from 0 on", `"many"`},
		"--cost --sweep summary-mode=flat,long":          {"summary-mode: must be cost, flat, shared", `"long"`},
		"--cost --sweep recovery=0 --sweep summary-mode": {"summary-mode: must be"},
		"--cost --through openai":                        {"--cost goes through anthropic"},
		"--cost --summary-mode long":                     {"--summary-mode is"},
		"--cost --price-model my-own":                    {"my-own"},
		"--cost --plot x.svg --limit 8000,9000":          {"--plot takes one --limit"},
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := execute(t, nil, append(append([]string{"replay"}, strings.Fields(args)...), file)...)
			if code != 2 || stdout != "" {
				t.Errorf("exit code %d, printed %q", code, stdout)
			}
			for _, words := range want {
				if !strings.Contains(stderr, words) {
					t.Errorf("it does not say %q: %s", words, stderr)
				}
			}
			if strings.Contains(stderr, "strconv") {
				t.Errorf("these are a program's words: %s", stderr)
			}
		})
	}
}

// Every flag of a replay but those that mean something always is known to belong to modes.
func TestReplayFlagsBelongToModes(t *testing.T) {
	fs := flag.NewFlagSet("replay", flag.ContinueOnError)
	var f replayFlags
	f.compact.register(fs)
	f.cost.register(fs)
	always := []string{"compact", "cost", "facts"}
	fs.VisitAll(func(one *flag.Flag) {
		if replayModesOf(one.Name) == nil && !slices.Contains(always, one.Name) {
			t.Errorf("--%s is taken in every mode", one.Name)
		}
	})
}

// A file that can't be written is found before anything is played, and one that can is
// left as it is until then.
func TestReplayChecksItsFilesFirst(t *testing.T) {
	file, dir := madeUp(t, "short", 1, 1), t.TempDir()
	for _, name := range []string{"--plot", "--csv"} {
		code, stdout, stderr := execute(t, nil, "replay", "--cost", name, filepath.Join(dir, "none", "x"), file)
		if code != 1 || stdout != "" || !strings.Contains(stderr, "none") {
			t.Errorf("%s: exit code %d, printed %q: %s", name, code, stdout, stderr)
		}
	}
	before := filepath.Join(dir, "before.svg")
	if err := os.WriteFile(before, []byte("<svg/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writable(before); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(before); err != nil || string(raw) != "<svg/>" {
		t.Errorf("the file holds %q: %v", raw, err)
	}
}
