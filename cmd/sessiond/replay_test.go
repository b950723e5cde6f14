package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/internal/replay"
	"sessiond/internal/testenv"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
	"sessiond/store"
	"sessiond/store/postgres"
	"sessiond/store/sqlite"
)

// transcripts returns the files of recorded conversations.
func transcripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testenv.Transcripts(t), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded conversations: %v", err)
	}
	return files
}

// TestReplayEveryTranscript: all recorded conversations go through a real server, which
// stores every message as it was recorded. (The command itself compares them.)
func TestReplayEveryTranscript(t *testing.T) {
	files := transcripts(t)
	messages, calls := 0, 0
	for _, file := range files {
		c, err := readConversation(file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		messages += len(c.Messages)
		for i := range c.Messages {
			calls += len(c.Messages[i].Calls())
		}
	}
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			code, stdout, stderr := execute(t, nil, append([]string{"replay", "--database", db.url(t)}, files...)...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			table := lines(stdout)
			sum := strings.Fields(table[len(table)-1])
			want := []string{strconv.Itoa(len(files)), "conversations", strconv.Itoa(messages), strconv.Itoa(calls)}
			if diff := cmp.Diff(want, sum[:min(len(want), len(sum))]); diff != "" || len(table) != len(files)+2 {
				t.Errorf("%d lines, the sum (-want +got):\n%s", len(table), diff)
			}
			t.Log(table[len(table)-1])
		})
	}
}

// replayKills is how often a replay is killed before it may end.
const replayKills = 6

// TestReplayKilled kills a replay's process as it goes, at places spread over the
// conversation, and starts it again on the same database. It ends with the same
// messages as one that was left alone.
func TestReplayKilled(t *testing.T) {
	file := longest(t, transcripts(t), 400)
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			aloneURL, killedURL := db.url(t), db.url(t)
			if code, _, stderr := execute(t, nil, "replay", "--database", aloneURL, file); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			want := tell(t, aloneURL)
			entries := newestHead(t, aloneURL)
			if len(want) < 100 {
				t.Fatalf("%s has %d messages, too few to be killed in", file, len(want))
			}

			watch := watchDatabase(t, killedURL)
			kills := 0
			for k := range int64(replayKills) {
				c := spawn(t, nil, "replay", "--database", killedURL, file)
				watch.until(c, entries*(k+1)/(replayKills+1))
				select {
				case <-c.ended:
				default:
					kills++
				}
				c.kill()
			}
			if kills < replayKills {
				t.Errorf("the replay was killed %d times, %d were meant", kills, replayKills)
			}
			code, stdout, stderr := execute(t, nil, "replay", "--database", killedURL, file)
			if code != 0 || !strings.Contains(stdout, "(resumed)") {
				t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
			}
			if diff := cmp.Diff(want, tell(t, killedURL)); diff != "" {
				t.Errorf("the conversations differ (-alone +killed):\n%s", diff)
			}
		})
	}
}

// longest returns the file with the most messages, but no more than atMost.
func longest(t *testing.T, files []string, atMost int) string {
	t.Helper()
	var best string
	most := 0
	for _, file := range files {
		c, err := readConversation(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Messages); n > most && n <= atMost {
			best, most = file, n
		}
	}
	return best
}

// told is a message of the log without what differs from run to run.
type told struct {
	Type    v1.EventType
	Role    v1.Role
	Content []string
}

var callIDs = regexp.MustCompile(`"(id|tool_use_id)":"[^"]*",?`)

// tell reads the messages of the only session in a database, through a server.
func tell(t *testing.T, url string) []told {
	t.Helper()
	s := startServer(t, settings(url))
	defer s.stop()
	conn := s.dial()
	list := call[v1.SessionListResult](t, conn, v1.MethodSessionList, map[string]any{})
	if len(list.Sessions) != 1 {
		t.Fatalf("%d sessions, want 1", len(list.Sessions))
	}
	var all []told
	var after int64
	for more := true; more; {
		page := call[v1.LogResult](t, conn, v1.MethodSessionLog, map[string]any{"session_id": list.Sessions[0].ID, "after_seq": after})
		for _, raw := range page.Entries {
			var e v1.Entry
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			after = e.Seq
			if e.Type != v1.EventMessageAdded && e.Type != v1.EventMessageQueued {
				continue
			}
			var d struct{ Message v1.Message }
			if err := json.Unmarshal(e.Data, &d); err != nil {
				t.Fatal(err)
			}
			m := told{Type: e.Type, Role: d.Message.Role}
			for _, block := range d.Message.Content {
				m.Content = append(m.Content, callIDs.ReplaceAllString(string(block), ""))
			}
			all = append(all, m)
		}
		more = page.More
	}
	return all
}

// newestHead is how many entries the newest session has, 0 if there is none.
func newestHead(t *testing.T, url string) int64 {
	t.Helper()
	return watchDatabase(t, url).head()
}

// watcher looks at a database while another process writes to it.
type watcher struct {
	t  *testing.T
	st store.Store
}

func watchDatabase(t *testing.T, url string) *watcher {
	t.Helper()
	st, err := openBeside(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return &watcher{t, st}
}

// openBeside opens a database that may be a server's at the moment.
func openBeside(ctx context.Context, url string) (store.Store, error) {
	if strings.HasPrefix(url, sqlite.Scheme) {
		return asStore(sqlite.Open(ctx, url, sqlite.Options{}))
	}
	return asStore(postgres.Open(ctx, url, postgres.Options{}))
}

func (w *watcher) head() int64 {
	w.t.Helper()
	rows, err := w.st.ListSessions(w.t.Context(), store.ListQuery{Owner: server.LocalOwner, Limit: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(rows) == 0 {
		return 0
	}
	return rows[0].HeadSeq
}

// until waits until the log has so many entries, or the process has ended.
func (w *watcher) until(c *child, entries int64) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for w.head() < entries {
		select {
		case <-poll.C:
		case <-c.ended:
			return
		case <-ctx.Done():
			w.t.Fatalf("the replay does not get to entry %d: %s", entries, c.stderr.String())
		}
	}
}

// TestReplayRefusesWhatIsNoConversation names the file and the line.
func TestReplayRefusesWhatIsNoConversation(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"empty":           {"", "line 1"},
		"no JSON":         {"x", "line 1"},
		"no id":           {"{}", "id"},
		"no messages":     {`{"id":"a"}`, "begin"},
		"begins wrongly":  {`{"id":"a"}` + "\n" + `{"role":"assistant","content":[{"type":"text","text":"x"}]}`, "begin"},
		"unknown block":   {`{"id":"a"}` + "\n" + `{"role":"user","content":[{"type":"sound"}]}`, "line 2"},
		"unasked results": {`{"id":"a"}` + "\n" + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"y"}]}`, "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := replay.Read(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}
