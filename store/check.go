package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// CheckCreate reports what makes c unfit for [Sessions.Create], before a database is
// asked. Such a commit is a mistake of the program, so the error is none of those
// that callers branch on; only a key that is there twice is ErrKeyExists.
func CheckCreate(c *Commit) error { return c.check(0) }

// CheckCommit is [CheckCreate] for [Sessions.Commit].
func CheckCommit(c *Commit) error { return c.check(c.PrevHead) }

func (c *Commit) check(prevHead int64) error {
	s := &c.Session
	switch {
	case s.ID == "" || s.Owner == "":
		return errors.New("commit names no session or no owner")
	case prevHead < 0:
		return fmt.Errorf("commit is made against head %d", prevHead)
	case s.HeadSeq != prevHead+int64(len(c.Entries)):
		return fmt.Errorf("head %d is not %d entries after %d", s.HeadSeq, len(c.Entries), prevHead)
	}
	switch s.Status {
	case StatusIdle, StatusRunning, StatusWaitingTool, StatusCompacting, StatusClosed:
	case StatusDeleted:
		return errors.New("a commit can't delete its session")
	default:
		return fmt.Errorf("unknown session status %q", s.Status)
	}
	for i := range c.Entries {
		if want := prevHead + 1 + int64(i); c.Entries[i].Seq != want {
			return fmt.Errorf("entry %d is numbered %d, not %d", i, c.Entries[i].Seq, want)
		}
	}
	return cmp.Or(c.checkTurns(), c.checkMemories(), c.checkKeys())
}

func (c *Commit) checkKeys() error {
	for i := range c.Keys {
		for j := range i {
			if c.Keys[i].KeyScope == c.Keys[j].KeyScope {
				return fmt.Errorf("key of %s is there twice: %w", c.Keys[i].Method, ErrKeyExists)
			}
		}
	}
	return nil
}

func (c *Commit) checkTurns() error {
	for i := range c.Turns {
		t := &c.Turns[i]
		if t.ID == "" {
			return errors.New("turn without an id")
		}
		for j := range i {
			if c.Turns[j].ID == t.ID {
				return fmt.Errorf("turn %s is there twice", t.ID)
			}
		}
		switch t.Status {
		case TurnQueued, TurnRunning, TurnCompleted, TurnStopped, TurnFailed, TurnInterrupted, TurnDropped:
		default:
			return fmt.Errorf("unknown turn status %q", t.Status)
		}
	}
	return nil
}

// Bytes returns about how many bytes a commit writes, for drivers that gather several.
func (c *Commit) Bytes() int {
	n := len(c.Session.Settings) + len(c.Session.State)
	for i := range c.Entries {
		n += len(c.Entries[i].Body)
	}
	for i := range c.Memories {
		if m := c.Memories[i].Put; m != nil {
			n += len(m.Title) + len(m.Content)
		}
	}
	return n
}

// RunningLast returns turns with the running one behind the others. In that order a
// database that compares row by row takes a turn that ends and one that begins.
func RunningLast(turns []Turn) []Turn {
	rank := func(t Turn) int {
		if t.Status == TurnRunning {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(turns), func(a, b Turn) int { return cmp.Compare(rank(a), rank(b)) })
}
