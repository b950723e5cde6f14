package storetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"sessiond/message"
	"sessiond/store"
)

// targetVariable tells a child of [RunCrash] which data to write to.
const targetVariable = "STORETEST_CRASH_TARGET"

const (
	crashRounds   = 6
	crashSessions = 4
	crashEntries  = 3 // of each commit
)

// RunCrash kills a process in the middle of commits, several times, and checks that
// nothing it was answered is missing and that no commit is there in part. The test
// that calls it runs again in that process, so it must do nothing else before.
// newTarget names fresh data; open opens it, in either process.
func RunCrash(t *testing.T, newTarget func() string, open func(ctx context.Context, target string) (store.Store, error)) {
	t.Helper()
	if target := os.Getenv(targetVariable); target != "" {
		t.Fatalf("crash child: %v", crashChild(t.Context(), target, open)) // it ends by being killed
	}
	target := newTarget()
	acked := make(map[store.Ref]int64)
	for round := range crashRounds {
		killChild(t, target, 20+rand.IntN(150), acked)
		s, err := open(t.Context(), target)
		if err != nil {
			t.Fatalf("open after the kill of round %d: %v", round, err)
		}
		b := &bench{T: t, Store: s, owner: crashOwner}
		for r, seq := range acked {
			b.checkCrashed(r, seq)
		}
		b.mustClose()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	if len(acked) != crashSessions {
		t.Errorf("%d sessions were written, want %d", len(acked), crashSessions)
	}
}

const crashOwner = "crash"

// killChild starts a child, kills it once it has answered n commits, and records the
// newest head answered of each session.
func killChild(t *testing.T, target string, n int, acked map[store.Ref]int64) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), targetVariable+"="+target)
	var complaint bytes.Buffer
	child.Stderr = &complaint
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	seen := 0
	var other strings.Builder
	for lines.Scan() {
		var id message.SessionID
		var seq int64
		if _, err := fmt.Sscanf(lines.Text(), "acked %s %d", &id, &seq); err != nil {
			fmt.Fprintln(&other, lines.Text())
			continue
		}
		r := store.Ref{Owner: crashOwner, ID: id}
		acked[r] = max(acked[r], seq)
		if seen++; seen == n {
			if err := child.Process.Kill(); err != nil {
				t.Errorf("kill: %v", err)
			}
		}
	}
	_ = child.Wait() // it was killed
	if seen < n {
		t.Fatalf("the child ended by itself after %d commits:\n%s%s", seen, other.String(), complaint.String())
	}
}

// crashChild commits until it is killed. Each answered commit is one line, written
// with one call after the answer.
func crashChild(ctx context.Context, target string, open func(context.Context, string) (store.Store, error)) error {
	s, err := open(ctx, target)
	if err != nil {
		return err
	}
	b := &bench{Store: s, owner: crashOwner} // whose test is in the parent
	errs := make(chan error)
	var mu sync.Mutex
	for i := range crashSessions {
		go func() {
			c, err := b.crashSession(ctx, i)
			for err == nil {
				mu.Lock()
				_, err = fmt.Fprintf(os.Stdout, "acked %s %d\n", c.Session.ID, c.Session.HeadSeq)
				mu.Unlock()
				if err != nil {
					break
				}
				c = follow(c, crashEntries)
				c.Entries[0].Body = fmt.Appendf(nil, "%q", strings.Repeat("x", rand.IntN(20_000)))
				tn := turn(c)
				c.Turns = []store.Turn{ended(tn, store.TurnCompleted)}
				m := memory(c)
				m.ID = message.MemoryID(c.Session.ID) // one, put again and again
				c.Memories = []store.MemoryChange{{Put: &m}}
				c.Keys = []store.KeyRecord{key(c, fmt.Sprint("head ", c.Session.HeadSeq))}
				if err = b.Commit(ctx, c); err == nil {
					err = b.IndexText(ctx, crashTexts(c))
				}
			}
			errs <- err
		}()
	}
	return <-errs
}

// crashTexts are the texts of a commit's entries.
func crashTexts(c *store.Commit) []store.SearchText {
	var texts []store.SearchText
	for i := range c.Entries {
		texts = append(texts, store.SearchText{Ref: ref(c), Seq: c.Entries[i].Seq, Text: "text"})
	}
	return texts
}

// crashSession continues session i of the child, or begins it.
func (b *bench) crashSession(ctx context.Context, i int) (*store.Commit, error) {
	id := message.SessionID(fmt.Sprintf("crash-%d", i))
	row, err := b.Session(ctx, store.Ref{Owner: b.owner, ID: id})
	if errors.Is(err, store.ErrNotFound) {
		c := b.create(0)
		c.Session.ID = id
		return c, b.Create(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return &store.Commit{Session: *row}, nil
}

// checkCrashed checks a session whose commit up to seq was answered.
func (b *bench) checkCrashed(r store.Ref, seq int64) {
	b.Helper()
	img := b.look(r)
	if img.Session == nil || img.Session.HeadSeq < seq {
		b.Fatalf("session %s: head was answered as %d, and now: %+v", r.ID, seq, img.Session)
	}
	head := img.Session.HeadSeq
	if int64(len(img.Entries)) != head || head%crashEntries != 0 {
		b.Errorf("session %s: %d entries with a head of %d, in commits of %d", r.ID, len(img.Entries), head, crashEntries)
	}
	for i := range img.Entries {
		if img.Entries[i].Seq != int64(i)+1 {
			b.Fatalf("session %s: entry %d is numbered %d", r.ID, i+1, img.Entries[i].Seq)
		}
	}
	if int64(len(img.Turns)) != head/crashEntries {
		b.Errorf("session %s: %d turns with a head of %d", r.ID, len(img.Turns), head)
	}
	for _, m := range img.Memories {
		if m.Seq != head {
			b.Errorf("session %s: a memory of seq %d with a head of %d", r.ID, m.Seq, head)
		}
	}
	if (len(img.Memories) == 1) != (head > 0) {
		b.Errorf("session %s: %d memories with a head of %d", r.ID, len(img.Memories), head)
	}
	// Texts may be missing, but they come in the order of their commits, and all of one.
	indexed, err := b.IndexedSeq(b.Context(), r)
	if err != nil || indexed > head || indexed%crashEntries != 0 {
		b.Errorf("session %s: indexed up to %d with a head of %d, %v", r.ID, indexed, head, err)
	}
	for i := int64(crashEntries); i <= head+crashEntries; i += crashEntries {
		scope := store.KeyScope{Owner: r.Owner, Method: "v1.message.send", SessionID: r.ID, Key: fmt.Sprint("head ", i)}
		_, err := b.Key(b.Context(), scope, at(0))
		if there := err == nil; there != (i <= head) {
			b.Errorf("session %s: key of head %d with a head of %d: %v", r.ID, i, head, err)
		}
	}
}
