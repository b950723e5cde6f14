package replay

import (
	"fmt"
	"slices"
	"time"

	"sessiond/message"
	"sessiond/session"
)

// Chain joins conversations, in their order, into ones of at least a number of tokens
// each, as count counts them; what is left over at the end goes to the last. The first
// one's system prompt is that of the chain, which has the tools of all.
func Chain(all []*Conversation, tokens int, count func(text string) int) []*Conversation {
	var chains []*Conversation
	for _, c := range all {
		n := len(chains)
		if n == 0 || chains[n-1].tokens(count) >= tokens {
			chains = append(chains, &Conversation{ID: fmt.Sprintf("chain-%02d", n+1), System: c.System})
			n++
		}
		chains[n-1].join(c)
	}
	if n := len(chains); n > 1 && chains[n-1].tokens(count) < tokens {
		chains[n-2].join(chains[n-1])
		chains = chains[:n-1]
	}
	return chains
}

// join appends a conversation. Nothing is known of the time between the two.
func (c *Conversation) join(next *Conversation) {
	for _, t := range next.Tools {
		if !slices.ContainsFunc(c.Tools, func(have session.Tool) bool { return have.Name == t.Name }) {
			c.Tools = append(c.Tools, t)
		}
	}
	at := len(c.Messages)
	c.Messages = append(c.Messages, next.Messages...)
	c.Messages[at].At = time.Time{}
}

// tokens counts the texts, calls and results of a conversation.
func (c *Conversation) tokens(count func(text string) int) int {
	n := 0
	for i := range c.Messages {
		for _, b := range c.Messages[i].Content {
			switch b := b.(type) {
			case message.Text:
				n += count(b.Text)
			case message.ToolUse:
				n += count(string(b.Input))
			case message.ToolResult:
				n += count(message.JoinText(b.Content))
			case message.Image, message.Thinking:
			}
		}
	}
	return n
}
