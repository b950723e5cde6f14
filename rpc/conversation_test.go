package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sessiond/rpc"
)

var update = flag.Bool("update", false, "rewrite the replies in testdata that differ")

// TestConversations plays the files of testdata over a real socket. The comment
// of a file says what it shows, its one part is the conversation:
//
//	--> a frame from the client
//	<-- the server's next frame, compared as JSON, numbers by their text
//	<== the same, compared byte for byte
//
// A long frame may go on in lines that are indented. When the last line is done
// one more call shows that the server has read everything, and a shutdown answers
// what is still running: a frame that the file does not mention is an error,
// whenever it comes.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 1 {
				t.Fatalf("%d parts, want 1", len(archive.Files))
			}
			part := &archive.Files[0]
			played := play(t, string(part.Data))
			if *update && played != string(part.Data) {
				part.Data = []byte(played)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play returns the conversation with the replies that came.
func play(t *testing.T, conversation string) string {
	t.Helper()
	s := serve(t, rpc.Options{MaxMalformed: 100}, all(examples()))
	c := s.dial(t)
	lines := strings.SplitAfter(strings.ReplaceAll(conversation, "\n    ", "\x00"), "\n")
	for i, line := range lines {
		mark, frame, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		frame = strings.ReplaceAll(frame, "\x00", "\n    ")
		switch mark {
		case "-->":
			c.send(frame)
		case "<--", "<==":
			got := c.receive()
			diff := cmp.Diff(frame, got)
			if mark == "<--" {
				diff = cmp.Diff(decoded(t, frame), decoded(t, got))
			}
			if diff == "" {
				continue
			}
			if !*update {
				t.Fatalf("after %s reply (-want +got):\n%s", strings.Join(lines[:i], ""), diff)
			}
			lines[i] = mark + " " + got + "\n"
		case "":
		default:
			t.Fatalf("line %q", line)
		}
	}
	c.call(`"last"`, "get_data")
	c.expect(`{"jsonrpc":"2.0","id":"last","result":["hello",5]}`)
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background(), nil, rpc.CloseRestart, "") }()
	if extra := c.expectClose(rpc.CloseRestart); len(extra) > 0 {
		t.Fatalf("frames nobody expected: %q", extra)
	}
	if err := wait(t, ended, "the shutdown"); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.Join(lines, ""), "\x00", "\n    ")
}

func decoded(t *testing.T, frame string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(frame))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", frame, err)
	}
	return v
}

// examples are the methods of the specification's examples and a few more.
func examples() rpc.Handler {
	numbers := func(req *rpc.Request) (list []int, err error) {
		err = json.Unmarshal(req.Params, &list)
		return list, err
	}
	silent := func(context.Context, *rpc.Request) (any, error) { return nil, nil }
	return methods{
		"update":       silent,
		"notify_hello": silent,
		"notify_sum":   silent,
		"get_data":     func(context.Context, *rpc.Request) (any, error) { return []any{"hello", 5}, nil },
		"sum": func(_ context.Context, req *rpc.Request) (any, error) {
			list, err := numbers(req)
			total := 0
			for _, n := range list {
				total += n
			}
			return total, err
		},
		"subtract": func(_ context.Context, req *rpc.Request) (any, error) {
			if list, err := numbers(req); err == nil {
				return list[0] - list[1], nil
			}
			var named struct{ Minuend, Subtrahend int }
			err := json.Unmarshal(req.Params, &named)
			return named.Minuend - named.Subtrahend, err
		},
		// params come back as they went in
		"params": func(_ context.Context, req *rpc.Request) (any, error) { return req.Params, nil },
		"markup": func(context.Context, *rpc.Request) (any, error) {
			return map[string]string{"html": "<b>&</b>"}, nil
		},
		"refuse": func(context.Context, *rpc.Request) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", &rpc.Error{Code: -31020, Message: "<none>", Data: map[string]any{"kind": "not_found"}})
		},
		"invalid_params": func(context.Context, *rpc.Request) (any, error) {
			return nil, rpc.InvalidParams("tools[0].name", "empty")
		},
		"fail":  func(context.Context, *rpc.Request) (any, error) { return nil, errors.New("secret") },
		"panic": func(context.Context, *rpc.Request) (any, error) { panic("secret") },
	}
}

// TestSpecificationIsWhole keeps the number of the specification's examples.
func TestSpecificationIsWhole(t *testing.T) {
	files, err := filepath.Glob("testdata/spec-*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(txtar.Parse(data).Files[0].Data)] = true
	}
	if len(seen) != 15 {
		t.Errorf("%d different examples, the specification has 15: %q", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}
