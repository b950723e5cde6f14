package session

import (
	"strings"

	"sessiond/compaction"
	"sessiond/message"
)

// situation gathers what the next request depends on besides the conversation, for a
// session with some settings: those of the running turn, or else the present ones.
func (a *actor) situation(s *Settings) *compaction.Situation { return a.situationAt(s, 0) }

// situationAt is the situation as it would be with the boundary after the message with a
// seq; 0: as it is.
func (a *actor) situationAt(s *Settings, through int64) *compaction.Situation {
	h := a.headOf(s)
	sit := &compaction.Situation{
		Now: a.m.opts.Now(), Limits: a.m.limits(s), Ratio: a.ratio(s.Model).Ratio,
		Tools: h.registered, Images: a.m.imageTokens,
		Trigger: compaction.TriggerAuto, Ladder: a.st.Context.Ladder, Breaker: a.st.Context.Breaker,
		Overhead: compaction.Overhead{
			System: h.systemCost, Tools: h.toolsCost, Attachments: a.attachments(s, through),
		},
		Memory: a.sessionMemory(),
		Todos:  domainTodos(a.settings.TodoList),
	}
	if a.turn != nil {
		sit.Turn = a.turn.row.ID
	}
	return sit
}

// current returns the settings that the next request is made with.
func (a *actor) current() *Settings {
	if a.turn != nil {
		return a.turn.settings
	}
	return a.settings
}

// attachments are the current versions of what is present in every request, in the order
// in which they are shown. through is where the boundary would be; 0: where it is.
func (a *actor) attachments(s *Settings, through int64) []compaction.Attachment {
	var out []compaction.Attachment
	if agent := a.headOf(s).agent; agent != nil {
		out = append(out, *agent)
	}
	if todo := a.st.Context.Todo; todo != nil {
		list := a.attachment(compaction.AttachTodoList, "", message.Wrap("todo_list", todoText(a.settings.TodoList)))
		list.MadeBySeq = todo.BySeq
		out = append(out, list)
	}
	out = append(out, a.memoryAttachments(through)...)
	// Together a quarter of what a conversation may have before it is compacted.
	b := a.m.planner.Budget(a.m.limits(s), 0)
	return a.m.planner.Bound(out, int(float64((b.Input-b.Buffer)/4)/a.ratio(s.Model).Ratio))
}

// attachment returns the version of an attachment that has a text.
func (a *actor) attachment(kind compaction.AttachmentKind, key, text string) compaction.Attachment {
	return compaction.Attachment{
		Kind: kind, Key: key, Version: digestOf(text), Text: text, Tokens: a.countOnce(string(kind)+key, text),
	}
}

// todoText is a todo list as the model reads it, an item a line.
func todoText(todos []Todo) string {
	if len(todos) == 0 {
		return "The list is empty."
	}
	var b strings.Builder
	for _, t := range todos {
		b.WriteString("- [" + t.Status + "] " + oneLine(t.Content) + "\n")
	}
	return b.String()
}

func domainTodos(todos []Todo) []compaction.Todo {
	out := make([]compaction.Todo, len(todos))
	for i, t := range todos {
		out[i] = compaction.Todo{Content: t.Content, Status: t.Status}
	}
	return out
}

// refreshGauge measures the context as it is now, for those who watch it fill. It does
// nothing until the conversation was read: what the row says still holds.
func (a *actor) refreshGauge() {
	if !a.history.ready() {
		return
	}
	c, b := a.m.planner.Gauge(a.history.state, a.situation(a.current()))
	cs := &a.st.Context
	cs.Gauge = &Gauge{
		Progress:  cs.Growth.Progress(c.Tokens(), b.Threshold),
		Estimated: cs.MeasuredShape != a.history.state.ShapeID(),
	}
}
