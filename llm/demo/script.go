package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sessiond/llm"
	"sessiond/message"
)

// step is what is called in one round, together.
type step []call

const (
	maxRounds   = 500
	maxParallel = 32
	todoTool    = "todo_write"
)

var (
	stepBreak = regexp.MustCompile(`(?i)[,;，；。]?\s*\b(?:and )?then\b|[，；。]?\s*(?:然后|接着)|;\s|；`)
	callVerb  = regexp.MustCompile(`(?i)\b(?:call|use|using|run|invoke|try|execute)\b|调用|使用|运行|执行|试试|用(?:[^户于途处]|$)`)
	times     = regexp.MustCompile(`(?i)\b(\d+) times\b|(\d+) ?次`)
	parallel  = regexp.MustCompile(`(?i)\b(?:in )?parallel\b|\bat once\b|同时|并行`)
	planWords = regexp.MustCompile(`(?i)\bplan\b|\bto-?do\b|计划|规划|待办`)
	namedTool = regexp.MustCompile(`(?i)\b(?:call|invoke|run) (?:the )?(?:tool )?["'\x60]?([A-Za-z][\w-]{0,63})|调用(?:工具)?\s*([A-Za-z][\w-]{0,63})`)
)

// readScript finds the tool calls that the words ask for. "then" starts a new round.
func readScript(s scene, req *llm.Request) []step {
	var script []step
	for _, part := range splitSteps(s.words) {
		calls := findCalls(part, req.Tools)
		if len(calls) == 0 {
			continue
		}
		switch n := firstNumber(times, outsideJSON(part), maxRounds); {
		case n > 1 && parallel.MatchString(part):
			script = append(script, slices.Repeat(calls, min(n, maxParallel)))
		case n > 1:
			script = append(script, slices.Repeat([]step{calls}, n)...)
		default:
			script = append(script, calls)
		}
	}
	if len(script) == 0 && planWords.MatchString(s.words) {
		script = planScript(s, req.Tools)
	}
	return script[:min(len(script), maxRounds)]
}

// splitSteps cuts at the words that mean "afterwards", not inside JSON.
func splitSteps(words string) []string {
	var parts []string
	start := 0
	masked := outsideJSON(words)
	for _, cut := range stepBreak.FindAllStringIndex(masked, -1) {
		parts = append(parts, words[start:cut[0]])
		start = cut[1]
	}
	return append(parts, words[start:])
}

// outsideJSON blanks every JSON object in words, keeping all offsets.
func outsideJSON(words string) string {
	out := []byte(words)
	for i := 0; i < len(out); i++ {
		if object := leadingObject(words[i:]); object != "" {
			for j := range len(object) {
				out[i+j] = ' '
			}
			i += len(object) - 1
		}
	}
	return string(out)
}

// leadingObject returns the JSON object that s starts with, byte for byte, or "".
func leadingObject(s string) string {
	if !strings.HasPrefix(s, "{") {
		return ""
	}
	d := json.NewDecoder(strings.NewReader(s))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return ""
	}
	return s[:d.InputOffset()]
}

// mention is a place where a tool is named.
type mention struct {
	tool       llm.Tool
	start, end int
}

func findCalls(part string, tools []llm.Tool) step {
	masked := outsideJSON(part)
	mentions := findMentions(masked, tools)
	asked := callVerb.MatchString(masked)
	var calls step
	for i, m := range mentions {
		until := len(part)
		if i+1 < len(mentions) {
			until = mentions[i+1].start
		}
		rest := part[m.end:until]
		object := ""
		if at := strings.IndexByte(rest, '{'); at >= 0 {
			object = leadingObject(rest[at:])
		}
		leads := strings.TrimSpace(part[:m.start]) == ""
		switch {
		case object != "":
			calls = append(calls, call{name: m.tool.Name, input: object})
		case asked || leads || strings.Contains(m.tool.Name, "_"):
			calls = append(calls, call{name: m.tool.Name, input: makeInput(m.tool, withoutCounts(rest))})
		}
	}
	return calls[:min(len(calls), maxParallel)]
}

// withoutCounts drops what says how often to call, which is no argument.
func withoutCounts(words string) string {
	return parallel.ReplaceAllString(times.ReplaceAllString(words, " "), " ")
}

// findMentions finds tool names that stand as words of their own, in order of place.
func findMentions(masked string, tools []llm.Tool) []mention {
	lower := strings.ToLower(masked)
	if len(lower) != len(masked) { // a letter whose lower case is longer: offsets would lie
		lower = masked
	}
	var found []mention
	for _, t := range tools {
		if t.Name == "" {
			continue
		}
		name := strings.ToLower(t.Name)
		for from := 0; ; {
			at := strings.Index(lower[from:], name)
			if at < 0 {
				break
			}
			start, end := from+at, from+at+len(name)
			if standsAlone(lower, start, end) {
				found = append(found, mention{tool: t, start: start, end: end})
			}
			from = end
		}
	}
	slices.SortStableFunc(found, func(a, b mention) int { return a.start - b.start })
	return found
}

// standsAlone: neither neighbour belongs to the same name. A Chinese neighbour is
// another word; a dot before a letter makes it a part of a file's name.
func standsAlone(s string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	after, size := utf8.DecodeRuneInString(s[end:])
	if inName(before) || inName(after) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[end+size:])
	return (after != '.' && after != '/') || !inName(next)
}

func inName(r rune) bool {
	return r == '_' || r == '-' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// unknownTool returns the name of a tool that the words ask for and nobody has.
func unknownTool(words string, tools []llm.Tool) string {
	for _, found := range namedTool.FindAllStringSubmatch(words, -1) {
		name := found[1] + found[2]
		known := slices.ContainsFunc(tools, func(t llm.Tool) bool { return strings.EqualFold(t.Name, name) })
		if !known && len(name) > 2 && (strings.ContainsAny(name, "_-") || strings.Contains(found[0], "tool") || found[2] != "") {
			return name
		}
	}
	return ""
}

// planScript keeps a todo list: one call to write it and one for every finished item.
func planScript(s scene, tools []llm.Tool) []step {
	at := slices.IndexFunc(tools, func(t llm.Tool) bool { return t.Name == todoTool })
	if at < 0 {
		return nil
	}
	p := phrasesFor(s.zh)
	subject := quote(s.words, 60)
	var script []step
	for done := range len(p.planItems) + 1 {
		script = append(script, step{{name: todoTool, input: todoInput(tools[at], p.planItems, subject, done)}})
	}
	return script
}

// todoInput writes the list with the first done items completed. The names of the
// members are the tool's own where its schema tells them.
func todoInput(tool llm.Tool, items [][2]string, subject string, done int) string {
	list, active := todoMembers(tool)
	out := append(message.AppendString([]byte{'{'}, list), ":["...)
	for i, item := range items {
		status := "pending"
		switch {
		case i < done:
			status = "completed"
		case i == done:
			status = "in_progress"
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"content":`...)
		out = message.AppendString(out, strings.ReplaceAll(item[0], "%s", subject))
		out = append(message.AppendString(append(out, ','), active), ':')
		out = message.AppendString(out, strings.ReplaceAll(item[1], "%s", subject))
		out = append(out, `,"status":`+strconv.Quote(status)+`}`...)
	}
	return string(append(out, "]}"...))
}

func todoMembers(tool llm.Tool) (list, active string) {
	list, active = "todos", "active_form"
	sch := parseSchema(tool.InputSchema)
	for _, p := range sch.properties {
		if p.schema.kind != "array" {
			continue
		}
		list = p.name
		if p.schema.items != nil && p.schema.items.property("activeForm") != nil {
			active = "activeForm"
		}
		break
	}
	return list, active
}
