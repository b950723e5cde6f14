package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sessiond/llm"
	"sessiond/message"
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
		a.startMemoryTool(t, c)
	default:
		a.resolve(t, c, ByBuiltin, errorText("There is no tool named %q.", c.use.Name), true)
	}
}

// inBackground runs what may wait for the database.
func (a *actor) inBackground(t *turnRun, c *toolCall, run func(ctx context.Context, done *builtinDone)) {
	c.builtin = true
	a.then(func(ctx context.Context) { // what it finds must be on disk, and its call
		a.spawn(func() {
			bctx, cancel := context.WithTimeout(ctx, memoryTime)
			defer cancel()
			done := builtinDone{turn: t, call: c, unlock: func() {}}
			run(bctx, &done)
			done.unlock = whenOver(ctx, done.unlock)
			a.post(ctx, done)
		})
	})
}

// whenOver returns what does f once: when it is called, or at the latest when ctx ends,
// after which nobody may be left to call it.
func whenOver(ctx context.Context, f func()) func() {
	stop := context.AfterFunc(ctx, f)
	return func() {
		if stop() {
			f()
		}
	}
}

// builtinDone takes the outcome of a tool that ran in the background.
type builtinDone struct {
	turn   *turnRun
	call   *toolCall
	text   string
	write  *memoryWrite
	unlock func() // once what is to be written is on disk
	err    error
}

func (c builtinDone) apply(ctx context.Context, a *actor) {
	if ctx.Err() != nil || a.turn != c.turn || c.call.res != nil {
		c.unlock()
		return
	}
	if c.write != nil && c.err == nil {
		a.changeMemory(c.write.change, c.write.row, c.turn.row.ID)
	}
	a.onFlush(func(context.Context, error) { c.unlock() })
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
	a.st.Context.Todo = &todoState{BySeq: a.newestMessage()}
	a.settings, a.resave = &changed, true // a running turn keeps what it began with
	a.appendUpdated(updatedBody{Version: a.row.Version, Fields: []string{fieldTodoList}, TodoList: &changed.TodoList})
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
