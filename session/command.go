package session

import (
	"context"
	"fmt"
	"strings"

	"sessiond/message"
	"sessiond/store"
)

// commandCompact is the message that compacts a session instead of being answered.
const commandCompact = "/compact"

// CompactInstruction reports whether content, sent as a message, is the command that
// compacts the session, and what it says about how.
func CompactInstruction(content []message.Block) (string, bool) {
	if len(content) != 1 {
		return "", false
	}
	t, ok := content[0].(message.Text)
	if !ok {
		return "", false
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(t.Text), commandCompact)
	if !ok || rest != "" && strings.TrimLeft(rest, " \t\r\n") == rest {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// applyCompact takes on a compaction that was asked for by a message. It becomes an
// entry, no message and no turn. Interrupting, it comes before everything else; one of
// the same kind that runs already is what was asked for.
func (c sendCommand) applyCompact(ctx context.Context, a *actor, instruction string) {
	if len(instruction) > MaxInstructionBytes {
		c.reply.fail(errInvalid("content", fmt.Sprintf("the instruction after %s is longer than %d bytes", commandCompact, MaxInstructionBytes)))
		return
	}
	running := a.compacting != nil && a.compacting.asked != nil && a.compacting.asked.instruction == instruction
	interrupts := c.busy == WhenBusyInterrupt && !running
	if interrupts {
		a.dropAsked()
	}
	if _, err := a.ask(instruction); err != nil {
		c.reply.fail(err)
		return
	}
	seq := a.append(EntryCommand, "", "", encode(commandBody{Command: "compact", Text: instruction}), nil)
	finish(a, c.keyed, c.reply, SendResult{Seq: seq, Command: true})
	switch {
	case interrupts && a.turn != nil:
		a.endTurn(store.TurnStopped, nil)
	case interrupts:
		a.abortCompaction()
	}
	a.goOn(ctx)
}
