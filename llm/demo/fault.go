package demo

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// fault is a failure that the user asked for.
type fault struct {
	kind    string // one of faultKinds, "" if the words name none
	times   int    // how often the same request fails; 0 means always
	halfway bool   // after half of the text was shown
	call    bool   // a tool call that is wrong rather than a failed answer
}

const (
	faultRefusal   = "refusal"
	faultEmpty     = "empty"
	faultCut       = "max_tokens"
	faultBadInput  = "bad_input"
	faultNoTool    = "unknown_tool"
	rateRetryAfter = 2 * time.Second
)

// faultKinds lists what can be asked for: the classes of failed calls, then answers
// that are odd but no failures.
func faultKinds() []string {
	return []string{
		string(llm.ClassRate), string(llm.ClassOverload), string(llm.ClassNetwork), string(llm.ClassAuth),
		string(llm.ClassBilling), string(llm.ClassMedia), string(llm.ClassInvalid), string(llm.ClassOverflow),
		string(llm.ClassSize), string(llm.ClassRefused), faultRefusal, faultEmpty, faultCut, faultBadInput, faultNoTool,
	}
}

var (
	failEnglish = regexp.MustCompile(`(?i)\bfail\b`)
	failChinese = regexp.MustCompile(`模拟.*(?:错误|失败|故障)|(?:失败|报错)`)
	failTimes   = regexp.MustCompile(`(?i)\bfail\b.*?\b(\d+) times\b|(\d+) ?次`)
	failHalfway = regexp.MustCompile(`(?i)\bhalf ?way\b|\bmid ?way\b|in the middle|中途|一半`)
)

// readFault returns nil if the words ask for no failure.
func readFault(words string) *fault {
	if !failEnglish.MatchString(words) && !failChinese.MatchString(words) {
		return nil
	}
	f := &fault{kind: faultKind(words), halfway: failHalfway.MatchString(words)}
	f.call = f.kind == faultBadInput || f.kind == faultNoTool
	lower := strings.ToLower(words)
	switch n := firstNumber(failTimes, words, maxRounds); {
	case n > 0:
		f.times = n
	case strings.Contains(lower, "once"), strings.Contains(words, "一次"):
		f.times = 1
	case strings.Contains(lower, "twice"), strings.Contains(words, "两次"), strings.Contains(words, "二次"):
		f.times = 2
	case strings.Contains(words, "三次"):
		f.times = 3
	}
	return f
}

func faultKind(words string) string {
	spoken := strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return !inName(r) })
	for i, word := range spoken {
		if slices.Contains(faultKinds(), word) {
			return word
		}
		if i > 0 && slices.Contains(faultKinds(), spoken[i-1]+"_"+word) {
			return spoken[i-1] + "_" + word
		}
	}
	for _, c := range [][2]string{
		{"限流", string(llm.ClassRate)},
		{"过载", string(llm.ClassOverload)},
		{"网络", string(llm.ClassNetwork)},
		{"认证", string(llm.ClassAuth)},
		{"余额", string(llm.ClassBilling)},
		{"计费", string(llm.ClassBilling)},
		{"图片", string(llm.ClassMedia)},
		{"无效", string(llm.ClassInvalid)},
		{"超长", string(llm.ClassOverflow)},
		{"拒绝", faultRefusal},
		{"空回答", faultEmpty},
		{"截断", faultCut},
		{"参数", faultBadInput},
		{"未知工具", faultNoTool},
	} {
		if strings.Contains(words, c[0]) {
			return c[1]
		}
	}
	return ""
}

// err is the failure of the call, or nil for those that are answers.
func (f *fault) err(window int64) error {
	e := &llm.Error{Class: llm.Class(f.kind), Message: "demo: failed with " + f.kind + ", as asked"}
	switch e.Class {
	case llm.ClassOverflow: // names the real window, so that nobody learns a wrong one
		return overflow(window+1, window)
	case llm.ClassSize:
		e.Status = 413
	case llm.ClassRate:
		e.Status, e.RetryAfter = 429, rateRetryAfter
	case llm.ClassOverload:
		e.Status = 529
	case llm.ClassAuth:
		e.Status = 401
	case llm.ClassBilling:
		e.Status = 402
	case llm.ClassMedia, llm.ClassInvalid, llm.ClassRefused:
		e.Status = 400
	case llm.ClassNetwork:
	default:
		return nil
	}
	return e
}

func overflow(sent, window int64) error {
	return &llm.Error{
		Class: llm.ClassOverflow, Status: 400, LimitTokens: window,
		Message: fmt.Sprintf("demo: prompt is too long: %d tokens > %d maximum", sent, window),
	}
}

// badCall is a call that no session can run.
func (f *fault) badCall(tools []llm.Tool) call {
	if f.kind == faultBadInput && len(tools) > 0 {
		return call{name: tools[0].Name, input: `{"broken": `}
	}
	return call{name: "no_such_tool", input: "{}"}
}

// tries counts how often the same request failed. It remembers the newest requests
// only; forgetting one means that it fails again from the start.
type tries struct {
	mu     sync.Mutex
	counts map[[sha256.Size]byte]int
	order  [][sha256.Size]byte // oldest first
}

const rememberedTries = 64

// due reports whether a fault that ends after some tries is to happen in this one.
func (m *Model) due(f *fault, req *llm.Request) bool {
	return f.times == 0 || m.tries.next(requestHash(req)) <= f.times
}

// next counts one more try of the request and returns how many that makes.
func (t *tries) next(key [sha256.Size]byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[[sha256.Size]byte]int)
	}
	if _, known := t.counts[key]; !known {
		if len(t.order) == rememberedTries {
			delete(t.counts, t.order[0])
			t.order = t.order[1:]
		}
		t.order = append(t.order, key)
	}
	t.counts[key]++
	return t.counts[key]
}

// requestHash is the same for a request and its repetition, and for nothing else.
func requestHash(req *llm.Request) [sha256.Size]byte {
	body := message.AppendString(nil, req.CacheKey)
	for i := range req.Messages {
		body = message.AppendBlocks(body, req.Messages[i].Content, message.Form{})
	}
	return sha256.Sum256(body)
}
