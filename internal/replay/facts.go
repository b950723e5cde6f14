package replay

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sessiond/message"
	"sessiond/session"
)

// factFinder finds the facts of a made-up conversation in a text.
type factFinder struct{ pattern *regexp.Regexp }

func newFactFinder() factFinder {
	return factFinder{regexp.MustCompile(`Fact [0-9]{4}: the seal of chamber [0-9]+ is [A-Z]+-[0-9]+\.`)}
}

// in returns the facts that a text tells, each once, in their order there.
func (f factFinder) in(text string) []string {
	var facts []string
	for _, fact := range f.pattern.FindAllString(text, -1) {
		if !slices.Contains(facts, fact) {
			facts = append(facts, fact)
		}
	}
	return facts
}

// Fact is a sentence that a conversation tells once.
type Fact struct {
	Text string
	By   string // where: user, answer, call or result
}

// factEvery is how many tokens a conversation goes on for each fact that it tells.
const factEvery = 2_000

// WithFacts makes up a conversation that tells so many facts, one in each 2,000 tokens
// as count counts them, in the user's words, the assistant's, its tool calls and their
// results by turns.
func WithFacts(facts int, count func(text string) int) (*Conversation, []Fact) {
	c := &Conversation{ID: "facts", System: "You keep the records of an archive.", Tools: []session.Tool{
		{Name: "read", Description: "Reads a record.", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
		{Name: "note", Description: "Notes something down.", InputSchema: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
	}}
	told := make([]Fact, facts)
	for i := range told {
		told[i] = Fact{Text: fmt.Sprintf("Fact %04d: the seal of chamber %d is %s-%d.", i+1, 100+i*7, [...]string{"KESTREL", "HERON", "OSPREY"}[i%3], 1000+i*i*13%9000)}
		told[i].By = c.tell(i, told[i].Text, count)
	}
	c.say(message.RoleUser, message.Text{Text: "Thank you, that was all."})
	c.say(message.RoleAssistant, message.Text{Text: "The archive is in order."})
	return c, told
}

// tell adds a turn of one tool round that tells a fact, and says where.
func (c *Conversation) tell(i int, fact string, count func(string) int) (by string) {
	id := message.ToolUseID(fmt.Sprintf("toolu_fact%04d", i))
	words := fmt.Sprintf("Please go through record %d.", i+1)
	answer := fmt.Sprintf("Record %d is as it should be.", i+1)
	use := message.ToolUse{ID: id, Name: "read", Input: fmt.Appendf(nil, `{"path":"records/%04d.txt"}`, i+1)}
	result := filler(i, factEvery-150, count)
	switch i % 4 {
	case 0:
		by, words = "user", words+" "+fact
	case 1:
		by, answer = "answer", answer+" "+fact
	case 2:
		by, use.Name, use.Input = "call", "note", fmt.Appendf(nil, `{"text":%q}`, fact)
	case 3:
		half := strings.Index(result[len(result)/2:], "\n") + len(result)/2
		by, result = "result", result[:half]+"\n"+fact+result[half:]
	}
	c.say(message.RoleUser, message.Text{Text: words})
	c.say(message.RoleAssistant, message.Text{Text: "I will look."}, use)
	c.say(message.RoleUser, message.ToolResult{ToolUseID: id, Content: []message.Block{message.Text{Text: result}}})
	c.say(message.RoleAssistant, message.Text{Text: answer})
	return by
}

func (c *Conversation) say(role message.Role, content ...message.Block) {
	c.Messages = append(c.Messages, Message{Role: role, Content: content})
}

// filler is a text without a meaning of about so many tokens, another for each seed.
func filler(seed, tokens int, count func(string) int) string {
	var b strings.Builder
	for i := 0; tokens > 0; i++ {
		line := fmt.Sprintf("Shelf %d, box %d: %d sheets, complete, last seen in year %d.\n", (seed*31+i)%97, i, (seed+i*i)%50+1, 1900+(seed*7+i*3)%120)
		tokens -= count(line)
		b.WriteString(line)
	}
	return strings.TrimSpace(b.String())
}
