package v1

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestErrorData(t *testing.T) {
	r := newTestRegistry(t)
	tests := []struct {
		data ErrorData
		want string
	}{
		{NewErrorData(KindBusy, 0), `{"kind":"busy","retryable":true}`},
		{NewErrorData(KindRateLimited, 1500*time.Microsecond), `{"kind":"rate_limited","retryable":true,"retry_after_ms":2}`},
		{NewErrorData(KindOverloaded, 20*time.Millisecond), `{"kind":"overloaded","retryable":true,"retry_after_ms":20}`},
		{ErrorData{Kind: KindNotFound, What: WhatTurn}, `{"kind":"not_found","retryable":false,"what":"turn"}`},
		{ErrorData{Kind: KindLogReset, HeadSeq: new(int64(0)), LogID: "l"}, `{"kind":"log_reset","retryable":false,"head_seq":0,"log_id":"l"}`},
	}
	for _, tt := range tests {
		got, err := r.Append(nil, tt.data)
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v, want %s", got, err, tt.want)
		}
	}
}

func TestParamError(t *testing.T) {
	err := fmt.Errorf("call: %w", &ParamError{Path: "tools[3].name", Reason: "is required"})
	var bad *ParamError
	if !errors.As(err, &bad) || err.Error() != "call: tools[3].name: is required" {
		t.Errorf("got %v", err)
	}
	if got := bad.Data(); got != (InvalidParamsData{Path: "tools[3].name", Reason: "is required"}) {
		t.Errorf("got %+v", got)
	}
	if got := (&ParamError{Reason: "must be an object"}).Error(); got != "params: must be an object" {
		t.Errorf("got %q", got)
	}
}

// TestKindsAreThoseOfTheContract compares the table with the contract's page.
func TestKindsAreThoseOfTheContract(t *testing.T) {
	page, err := os.ReadFile("../../../shared/PROTOCOL.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the contract's page is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int)
	for _, m := range regexp.MustCompile(`\| (-310\d\d) \| ([a-z_]+)`).FindAllStringSubmatch(string(page), -1) {
		want[m[2]], _ = strconv.Atoi(m[1])
	}
	if diff := cmp.Diff(want, codes()); diff != "" {
		t.Errorf("(-page +table):\n%s", diff)
	}
}

func codes() map[string]int {
	all := make(map[string]int)
	for _, k := range Kinds() {
		all[string(k.Kind)] = k.Code
	}
	return all
}

func TestUnknownKind(t *testing.T) {
	if info, ok := Kind("nonsense").Info(); ok {
		t.Errorf("got %+v", info)
	}
	info, ok := KindQueueFull.Info()
	if want := (KindInfo{KindQueueFull, -31022, true, "too many messages are waiting in the session"}); !ok || info != want {
		t.Errorf("got %+v", info)
	}
}
