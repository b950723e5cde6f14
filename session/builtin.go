package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/store"
)

// Built-in tools run in the server. todo_write changes the actor's state at once; the
// others may ask the database first.
const toolTodoWrite = "todo_write"

func isBuiltin(name string) bool {
	return slices.Contains([]string{
		toolTodoWrite, toolHistorySearch, toolMemorySave, toolMemoryUpdate, toolMemoryDelete, toolMemorySearch,
	}, name)
}

// builtinTools are the server's own tools that a model is offered.
func (m *Manager) builtinTools() []llm.Tool {
	tools := []llm.Tool{todoWriteSpec(), historySearchSpec()}
	if m.opts.MemoryTools {
		tools = append(tools, memoryTools()...)
	}
	return tools
}

func todoWriteSpec() llm.Tool {
	return llm.Tool{
		Name: toolTodoWrite,
		Description: "Write the session's todo list: the whole list each time, in order. Use it to plan work of several " +
			"steps and keep it current: one item in_progress while you work on it, completed as soon as it is done.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"todos":{"type":"array","maxItems":256,"items":{"type":"object","properties":{"content":{"type":"string","description":"what to do, in the imperative"},"active_form":{"type":"string","description":"the same while it is being done, as in \"Running the tests\""},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"]}}},"required":["todos"]}`),
	}
}

// MaxTodos and MaxTodoBytes bound a todo list, whoever writes it.
const (
	MaxTodos     = 256
	MaxTodoBytes = 4096 // of one item's text
)

// startBuiltin runs a tool of the server's own. A name that nobody has registered is
// answered with an error, so that the model can go on.
func (a *actor) startBuiltin(t *turnRun, c *toolCall) {
	switch {
	case c.use.Name == toolTodoWrite:
		text, err := a.writeTodos(c.use)
		a.endBuiltin(t, c, text, err)
	case c.use.Name == toolHistorySearch:
		a.startRecall(t, c)
	case isBuiltin(c.use.Name) && a.m.opts.MemoryTools:
		access := memoryAccess{a.ref, a.memories}
		a.inBackground(t, c, func(ctx context.Context, done *builtinDone) {
			done.text, done.write, done.err = a.m.runMemoryTool(ctx, access, c.use)
		})
	default:
		a.resolve(t, c, ByBuiltin, errorText("There is no tool named %q.", c.use.Name), true)
	}
}

// startRecall searches what left the view.
func (a *actor) startRecall(t *turnRun, c *toolCall) {
	var args recallArgs
	if err := json.Unmarshal(c.use.Input, &args); err != nil {
		a.endBuiltin(t, c, "", fmt.Errorf("the input does not fit the schema: %w", err))
		return
	}
	if strings.TrimSpace(args.Query) == "" {
		a.endBuiltin(t, c, "", errors.New("the query is empty"))
		return
	}
	record := a.history.state.Record()
	if record == nil {
		a.endBuiltin(t, c, "Nothing has left the view: the whole conversation is before you.", nil)
		return
	}
	upTo := a.published
	a.inBackground(t, c, func(ctx context.Context, done *builtinDone) {
		if done.hits, done.err = a.m.recall.search(ctx, a.ref, args, upTo); done.err != nil {
			a.log.Warn("history_search failed", zap.Error(done.err))
			done.err = errors.New("the history can't be searched just now")
		}
		done.searched = true
	})
}

// inBackground runs what may wait for the database.
func (a *actor) inBackground(t *turnRun, c *toolCall, run func(ctx context.Context, done *builtinDone)) {
	c.builtin = true
	a.then(func(ctx context.Context) { // what it finds must be on disk, and its call
		a.spawn(func() {
			bctx, cancel := context.WithTimeout(ctx, memoryTime)
			defer cancel()
			done := builtinDone{turn: t, call: c}
			run(bctx, &done)
			a.post(ctx, done)
		})
	})
}

// builtinDone takes the outcome of a tool that ran in the background.
type builtinDone struct {
	turn     *turnRun
	call     *toolCall
	text     string
	write    *memoryWrite
	searched bool
	hits     []store.SearchHit
	err      error
}

func (c builtinDone) apply(ctx context.Context, a *actor) {
	if ctx.Err() != nil || a.turn != c.turn || c.call.res != nil {
		return
	}
	if c.searched && c.err == nil {
		c.text = recalled(c.hits, func(seq int64) bool { return a.history.state.HasLeft(seq, 0) })
	}
	if c.write != nil && c.err == nil {
		a.changeMemory(c.write.change, c.write.row, c.turn.row.ID)
	}
	a.endBuiltin(c.turn, c.call, c.text, c.err)
	a.closeCalls(c.turn)
}

func (a *actor) endBuiltin(t *turnRun, c *toolCall, text string, err error) {
	if err != nil {
		a.resolve(t, c, ByBuiltin, errorText("%s: %v", c.use.Name, err), true)
		return
	}
	a.resolve(t, c, ByBuiltin, errorText("%s", text), false)
}

func (a *actor) writeTodos(use message.ToolUse) (string, error) {
	todos, err := decodeTodos(use.Input)
	if err != nil {
		return "", err
	}
	changed := *a.settings
	changed.TodoList = todos
	conv := a.history.state.Conversation()
	a.st.Context.Todo = &todoState{BySeq: conv.Message(conv.Len() - 1).Seq}
	a.changeSettings(&changed, "todo_list")
	return fmt.Sprintf("The todo list has %d items now.", len(todos)), nil
}

func decodeTodos(input json.RawMessage) ([]Todo, error) {
	var args struct {
		Todos *[]Todo `json:"todos"`
	}
	if err := json.Unmarshal(input, &args); err != nil {
		return nil, fmt.Errorf("the input does not fit the schema: %w", err)
	}
	if args.Todos == nil {
		return nil, fmt.Errorf("the member todos is missing")
	}
	for i := range *args.Todos {
		if t := &(*args.Todos)[i]; t.ActiveForm == "" {
			t.ActiveForm = t.Content // clients show it while the item is in progress
		}
	}
	return *args.Todos, checkTodos(*args.Todos)
}

func checkTodos(todos []Todo) error {
	if len(todos) > MaxTodos {
		return fmt.Errorf("todos has %d items, at most %d are kept", len(todos), MaxTodos)
	}
	for i, t := range todos {
		if strings.TrimSpace(t.Content) == "" {
			return fmt.Errorf("todos[%d].content is empty", i)
		}
		if len(t.Content) > MaxTodoBytes || len(t.ActiveForm) > MaxTodoBytes {
			return fmt.Errorf("todos[%d] is longer than %d bytes", i, MaxTodoBytes)
		}
		switch t.Status {
		case "pending", "in_progress", "completed":
		default:
			return fmt.Errorf("todos[%d].status is %q, not pending, in_progress or completed", i, t.Status)
		}
	}
	return nil
}

// changeSettings puts new settings in force and logs which fields changed. The
// running turn keeps what it began with.
func (a *actor) changeSettings(s *Settings, fields ...string) {
	a.settings = s
	a.resave = true
	a.append(EntryUpdated, "", "", encode(updatedBody{Version: a.row.Version, Fields: fields}), nil)
}
