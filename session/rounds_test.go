package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// repetitions is how often a random story is told: n times, or as often as the
// environment says.
func repetitions(t *testing.T, n int) int {
	t.Helper()
	text := os.Getenv("SESSIOND_TEST_REPETITIONS")
	if text == "" {
		return n
	}
	more, err := strconv.Atoi(text)
	if err != nil || more < 1 {
		t.Fatalf("SESSIOND_TEST_REPETITIONS is %q", text)
	}
	return more
}

// Two hundred rounds during which everything changes that is shown beside the
// conversation. Each request begins, byte for byte, with the one before, unless something
// was compacted or cleared between them; it shows the current version of everything, and
// no version twice (B81).
func TestTwoHundredRoundsOfChanges(t *testing.T) {
	for n := range repetitions(t, 12) {
		limit := []int{4_000_000, 25_000, 12_000}[n%3]
		t.Run(fmt.Sprintf("%d within %d", n, limit), func(t *testing.T) {
			withClerk(t, limit, func(w *world, c *clerk) {
				s := &changingStory{
					world: w, clerk: c, random: rand.New(rand.NewPCG(81, uint64(n))),
					current: make(map[string]string), versions: make(map[string]string),
				}
				s.tell(20, 10)
			}, func(o *session.Options) { o.MemoryTools = true })
		})
	}
}

// changingStory is a session beside which everything changes all the time. Every version
// of everything has a number of its own, so that it can be told from all others.
type changingStory struct {
	*world
	*clerk
	random *rand.Rand
	ref    store.Ref

	number   int
	current  map[string]string // what must be shown now → its text
	versions map[string]string // every text that ever was → what it is of
	mine     []message.MemoryID
	owners   message.MemoryID // of user scope
	saved    int              // memories by the model

	last     string // the request before
	shape    int    // how often something had been compacted or cleared by then
	requests int
	faults   int
}

// The bounds of what the story has remembered: no more than the five that are shown.
const (
	storyMemories = 3 // by the client
	storySaved    = 2 // by the model
)

func (s *changingStory) tell(turns, rounds int) {
	s.ref = s.create(withTools("read"), func(set *session.Settings) { set.AgentPrompt = s.version("rules") })
	s.watch(s.check)
	for range turns {
		for range s.random.IntN(4) {
			s.change(s.random.IntN(5))
		}
		if s.random.IntN(10) == 0 {
			if _, err := s.compact(s.ref, session.CompactOptions{Wait: true}); err != nil {
				s.t.Error(err)
			}
		}
		for range rounds - 1 {
			s.say(s.work)
		}
		s.say(says("done"))
		s.send(s.ref, words("message", 10+s.random.IntN(200)))
		s.answerCalls(s.ref, func(session.PendingCall) string {
			if s.random.IntN(4) == 0 {
				s.change(1 + s.random.IntN(4)) // the rules are those that the turn began with
			}
			return words("content", 10+s.random.IntN(300))
		})
	}
	if s.requests != turns*rounds {
		s.t.Errorf("%d requests, want %d", s.requests, turns*rounds)
	}
}

// version makes a new version of something the current one.
func (s *changingStory) version(what string) string {
	s.number++
	text := fmt.Sprintf("%s, version %d;", what, s.number)
	s.current[what], s.versions[text] = text, what
	return text
}

// work is what the model does in a round.
func (s *changingStory) work(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	step := calls("read", fmt.Sprintf(`{"path":"f%d"}`, s.random.IntN(9)))
	switch s.random.IntN(10) {
	case 0:
		step = calls("todo_write", fmt.Sprintf(`{"todos":[{"content":%q,"status":"pending"}]}`, s.version("todo list")))
	case 1:
		if s.saved < storySaved {
			s.saved++
			text := s.version(fmt.Sprint("the model's memory ", s.saved))
			step = calls("memory_save", fmt.Sprintf(`{"category":"learning","title":"Learned","content":%q}`, text))
		}
	}
	return step(ctx, req, emit)
}

// change is something that a client does.
func (s *changingStory) change(what int) {
	switch what {
	case 0:
		prompt := s.version("rules")
		s.world.change(s.ref, session.Update{AgentPrompt: &prompt})
	case 1:
		s.world.change(s.ref, session.Update{TodoList: &[]session.Todo{{Content: s.version("todo list"), Status: "pending"}}})
	case 2:
		s.changeOwners()
	case 3:
		if n := len(s.mine); n == storyMemories {
			s.forget(s.random.IntN(n))
		}
		s.note()
	case 4:
		if n := len(s.mine); n > 0 {
			s.correct(s.mine[s.random.IntN(n)])
		}
	}
}

// note writes a memory of the session.
func (s *changingStory) note() {
	s.number++
	text := fmt.Sprintf("a memory, version %d;", s.number)
	made, err := s.m.CreateMemory(s.t.Context(), session.MemoryOfSession, s.ref, remember("decision", "Decided", text), session.Idempotency{})
	if err != nil {
		s.t.Error(err)
		return
	}
	what := memoryName(made.Value.ID)
	s.current[what], s.versions[text] = text, what
	s.mine = append(s.mine, made.Value.ID)
}

// correct changes a memory.
func (s *changingStory) correct(id message.MemoryID) {
	content := s.version(memoryName(id))
	if _, err := s.m.UpdateMemory(s.t.Context(), alice, id, session.MemoryInput{Content: &content}, session.Idempotency{}); err != nil {
		s.t.Error(err)
	}
}

// forget deletes a memory.
func (s *changingStory) forget(at int) {
	id := s.mine[at]
	if _, err := s.m.DeleteMemory(s.t.Context(), alice, id, session.Idempotency{}); err != nil {
		s.t.Error(err)
	}
	s.mine = slices.Delete(s.mine, at, at+1)
	delete(s.current, memoryName(id))
}

func memoryName(id message.MemoryID) string { return "memory " + string(id) }

func (s *changingStory) changeOwners() {
	if s.owners != "" {
		content := s.version("the owner's memory")
		if _, err := s.m.UpdateMemory(s.t.Context(), alice, s.owners, session.MemoryInput{Content: &content}, session.Idempotency{}); err != nil {
			s.t.Error(err)
		}
		return
	}
	critical, in := session.ImportanceCritical, remember("learning", "Likes", s.version("the owner's memory"))
	in.Importance = &critical
	made, err := s.m.CreateMemory(s.t.Context(), session.MemoryOfUser, s.ref, in, session.Idempotency{})
	if err != nil {
		s.t.Error(err)
		return
	}
	s.owners = made.Value.ID
}

// check sees each request before it is answered.
func (s *changingStory) check(req *llm.Request) {
	if isSummary(req) {
		return
	}
	whole, shape := strings.Join(blocksOf(req), "\n"), len(s.changes(s.ref))
	if shape == s.shape && !strings.HasPrefix(whole, s.last) {
		s.report("request %d does not begin with the one before, and nothing was compacted or cleared", s.requests)
	}
	for text, what := range s.versions {
		n := strings.Count(whole, text)
		if n > 1 {
			s.report("request %d shows %d times: %s", s.requests, n, text)
		}
		if n == 0 && s.current[what] == text {
			s.report("request %d does not show what is current: %s", s.requests, text)
		}
	}
	s.last, s.shape = whole, shape
	s.requests++
}

// report tells a few of the faults; the others mostly follow from them.
func (s *changingStory) report(format string, args ...any) {
	if s.faults++; s.faults <= 5 {
		s.t.Errorf(format, args...)
	}
}
