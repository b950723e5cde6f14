package openai

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"sessiond/llm"
)

// Dialect is what has to be known about a server before it is asked. The zero value is
// no dialect; take one from [DialectFor] or [DialectNamed].
type Dialect struct {
	// Name is how configuration calls it, and the provider of its thinking blocks.
	Name string

	// hosts and port recognise the server by its URL; the port only over plain HTTP.
	hosts []string
	port  string

	// outputCap is the member that limits the answer.
	outputCap string

	// cacheKey: the server routes by prompt_cache_key, or at least takes the member.
	cacheKey bool

	// noText stands as content of an assistant message that only calls tools. Hosted
	// services want null; the chat templates of local servers choke on it.
	noText string

	// reasoning says which thinking goes back with the conversation.
	reasoning returned

	// off are the ways to turn reasoning off, tried in order until one is not refused;
	// effort is the member that asks for a level, with %s for it.
	off    []string
	effort string

	// plain are prefixes of models that take no member about reasoning.
	plain []string

	// windowPath is where, below the server's root, it says how large a window the
	// loaded model has; the models list is asked where this is empty.
	windowPath string
}

// returned says which thinking a server gets back.
type returned int

const (
	returnNothing returned = iota // the server refuses or ignores it
	returnAsCame                  // in the member it came in
	returnAlways                  // as it came, and empty where a message with tool calls has none
)

const (
	nullText  = `null`
	emptyText = `""`

	effortMember    = `"reasoning_effort":"%s"`
	templateOff     = `"chat_template_kwargs":{"enable_thinking":false}`
	thinkingTypeOff = `"thinking":{"type":"disabled"}`
)

// dialects returns every known dialect, the one for unknown servers last.
func dialects() []Dialect {
	return []Dialect{
		{
			Name: "openai", hosts: []string{"openai.com"},
			outputCap: "max_completion_tokens", cacheKey: true, noText: nullText,
			off:    []string{`"reasoning_effort":"none"`, `"reasoning_effort":"minimal"`, `"reasoning_effort":"low"`},
			effort: effortMember, plain: []string{"gpt-3.5", "gpt-4", "chatgpt"},
		},
		{
			Name: "openrouter", hosts: []string{"openrouter.ai"},
			outputCap: "max_tokens", cacheKey: true, noText: nullText, reasoning: returnAsCame,
			off:    []string{`"reasoning":{"enabled":false}`, `"reasoning":{"effort":"low"}`},
			effort: `"reasoning":{"effort":"%s"}`,
		},
		{
			Name: "deepseek", hosts: []string{"deepseek.com"},
			outputCap: "max_tokens", noText: nullText, reasoning: returnAlways,
			off: []string{thinkingTypeOff}, effort: `"thinking":{"type":"enabled"}`,
		},
		{
			Name: "kimi", hosts: []string{"moonshot.ai", "moonshot.cn"},
			outputCap: "max_tokens", cacheKey: true, noText: nullText, reasoning: returnAlways,
			off: []string{thinkingTypeOff}, effort: `"thinking":{"type":"enabled"}`,
		},
		{
			Name: "ollama", hosts: []string{"ollama.com"}, port: "11434",
			outputCap: "max_tokens", noText: emptyText, reasoning: returnAsCame,
			off: []string{`"reasoning_effort":"none"`}, effort: effortMember,
			windowPath: "/api/ps",
		},
		{
			Name: "lmstudio", port: "1234",
			outputCap: "max_tokens", noText: emptyText, reasoning: returnAsCame,
			effort: effortMember, windowPath: "/api/v0/models",
		},
		{
			Name: "vllm", port: "8000",
			outputCap: "max_tokens", noText: emptyText, reasoning: returnAsCame,
			off: []string{templateOff}, effort: effortMember,
		},
		{
			Name: "llamacpp", port: "8080",
			outputCap: "max_tokens", noText: emptyText, reasoning: returnAsCame,
			off: []string{templateOff}, effort: effortMember,
			windowPath: "/props",
		},
		{
			Name:      "compatible",
			outputCap: "max_tokens", noText: nullText, effort: effortMember,
		},
	}
}

// DialectNamed returns the dialect with that name.
func DialectNamed(name string) (Dialect, error) {
	var names []string
	for _, d := range dialects() {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return Dialect{}, fmt.Errorf("no dialect is called %q; there are %s", name, strings.Join(names, ", "))
}

// DialectFor recognises a server by its URL: services by their host, local servers by
// the port they listen on unless told otherwise. Others get the dialect "compatible",
// which sends only what every server takes.
func DialectFor(baseURL string) Dialect {
	all := dialects()
	other := all[len(all)-1]
	u, err := url.Parse(baseURL)
	if err != nil {
		return other
	}
	host := strings.ToLower(u.Hostname())
	for _, d := range all {
		named := func(name string) bool { return host == name || strings.HasSuffix(host, "."+name) }
		if slices.ContainsFunc(d.hosts, named) || d.port != "" && u.Scheme == "http" && u.Port() == d.port {
			return d
		}
	}
	return other
}

// thinkingMembers returns what a request may say to get a level of reasoning, best
// first. The last one, always there, is to say nothing.
func (d Dialect) thinkingMembers(level llm.ThinkingLevel, model string) []string {
	var members []string
	effort := func(levels ...llm.ThinkingLevel) {
		for _, l := range levels {
			if d.effort == "" {
				return
			}
			member := d.effort
			if strings.Contains(member, "%s") {
				member = fmt.Sprintf(member, l)
			}
			if !slices.Contains(members, member) {
				members = append(members, member)
			}
		}
	}
	isPrefix := func(prefix string) bool { return strings.HasPrefix(model, prefix) }
	if !slices.ContainsFunc(d.plain, isPrefix) {
		switch level {
		case llm.ThinkingDefault:
		case llm.ThinkingOff:
			members = append(members, d.off...)
		case llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh:
			effort(level)
		case llm.ThinkingXHigh:
			effort(level, llm.ThinkingHigh)
		case llm.ThinkingMax:
			effort(level, llm.ThinkingXHigh, llm.ThinkingHigh)
		}
	}
	return append(members, "")
}
