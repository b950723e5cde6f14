package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"sessiond/llm"
	"sessiond/message"
)

// Built-in tools run inside the actor: they change its state and take no time.
const toolTodoWrite = "todo_write"

func isBuiltin(name string) bool { return name == toolTodoWrite }

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

// runBuiltin runs a tool of the server's own. A name that nobody has registered is
// answered with an error, so that the model can go on.
func (a *actor) runBuiltin(use message.ToolUse) (content []message.Block, isError bool) {
	if use.Name != toolTodoWrite {
		return errorText("There is no tool named %q.", use.Name), true
	}
	todos, err := decodeTodos(use.Input)
	if err != nil {
		return errorText("todo_write: %v", err), true
	}
	changed := *a.settings
	changed.TodoList = todos
	conv := a.history.state.Conversation()
	a.st.Context.Todo = &todoState{BySeq: conv.Message(conv.Len() - 1).Seq}
	a.changeSettings(&changed, "todo_list")
	return errorText("The todo list has %d items now.", len(todos)), false
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
