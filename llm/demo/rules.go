package demo

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// reply is an answer before it is streamed.
type reply struct {
	thinking string
	text     string
	calls    []call
	stop     llm.StopReason
	wait     time.Duration // silence before the first piece
	fault    *fault        // instead of or in the middle of all this
}

// call is a tool call to be made.
type call struct {
	name  string
	input string
}

// decide applies the rules, first match first.
func decide(s scene, req *llm.Request) reply {
	p := phrasesFor(s.zh)
	switch task := taskOf(s.newest); {
	case asksForMemory(task):
		return reply{text: rememberByRule(s.newest), stop: llm.StopEnd}
	case asksForNotes(task):
		return reply{text: notesByRule(s.newest, req), stop: llm.StopEnd, fault: faultOfNotes(task)}
	default:
		if headings := summaryHeadings(task); headings != nil {
			return reply{text: summarise(headings, req), stop: llm.StopEnd}
		}
	}
	script := readScript(s, req)
	if len(s.results) > 0 {
		return goOn(s, script, p)
	}
	r := reply{stop: llm.StopEnd, wait: readWait(s.words)}
	if wantsThought(s.words, req.Thinking) {
		r.thinking = fmt.Sprintf(p.thinking, quote(s.words, 80), p.messages.of(len(req.Messages)), p.hands.of(len(req.Tools)))
	}
	r.fault = readFault(s.words)
	switch {
	case r.fault != nil && r.fault.kind == "":
		r.fault = nil
		r.text = p.demo + fmt.Sprintf(p.faults, strings.Join(faultKinds(), ", "))
	case r.fault != nil && r.fault.call:
		r.text = p.demo + p.faulty
		r.calls = []call{r.fault.badCall(req.Tools)}
		r.stop, r.fault = llm.StopToolUse, nil
	case r.fault != nil:
		r.text = p.demo + p.survived
	case wantsHelp(s.words):
		r.text = p.demo + p.help + toolList(req.Tools, p)
	case len(script) > 0 && req.ToolChoice == llm.ToolChoiceNone:
		r.text = p.demo + p.toolsOff
	case len(script) > 0:
		r.takeStep(script, 0, p)
	case unknownTool(s.words, req.Tools) != "":
		r.text = p.demo + fmt.Sprintf(p.noSuchTool, unknownTool(s.words, req.Tools)) + toolList(req.Tools, p)
	default:
		r.text = p.demo + plainAnswer(s, req, p)
	}
	return r
}

// goOn answers tool results: with the next step of the script, or by describing them.
func goOn(s scene, script []step, p *phrases) reply {
	r := reply{stop: llm.StopEnd}
	if done := stepsDone(s.said); done > 0 && done < len(script) {
		r.takeStep(script, done, p)
		return r
	}
	var b strings.Builder
	b.WriteString(p.demo)
	for i, res := range s.results {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(describe(res, p))
	}
	r.text = b.String()
	return r
}

func (r *reply) takeStep(script []step, i int, p *phrases) {
	names := make([]string, len(script[i]))
	for j, c := range script[i] {
		names[j] = c.name
	}
	r.text = p.demo + fmt.Sprintf(p.step, i+1, len(script), strings.Join(names, ", "))
	r.calls = script[i]
	r.stop = llm.StopToolUse
}

var stepDone = regexp.MustCompile(`(?:step |第 )(\d+)(?: of | 步)`)

// stepsDone reads back what takeStep wrote.
func stepsDone(said string) int {
	found := stepDone.FindStringSubmatch(said)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		return 0
	}
	return n
}

func describe(r result, p *phrases) string {
	text := message.JoinText(r.content)
	images := 0
	for _, b := range r.content {
		if _, ok := b.(message.Image); ok {
			images++
		}
	}
	name := r.tool
	if name == "" {
		name = p.someTool
	}
	out := fmt.Sprintf(p.result, name, p.bytes.of(len(text)), p.lines.of(strings.Count(text, "\n")+1))
	if r.failed {
		out = fmt.Sprintf(p.failedResult, name)
	}
	if images > 0 {
		out += " " + fmt.Sprintf(p.images, p.pictures.of(images))
	}
	if text != "" {
		out += " " + quote(text, 200)
	}
	return out
}

func plainAnswer(s scene, req *llm.Request, p *phrases) string {
	if long := longText(s.words, s.zh); long != "" {
		return long
	}
	out := fmt.Sprintf(p.echo, quote(s.words, 300))
	if n := len(s.images); n > 0 {
		saw := p.sawImages
		if n == 1 {
			saw = p.sawImage
		}
		bytes := base64.StdEncoding.DecodedLen(len(s.images[0].Data))
		out += " " + fmt.Sprintf(saw, p.pictures.of(n), s.images[0].MimeType, p.bytes.of(bytes))
	}
	return out + " " + fmt.Sprintf(p.hint, p.messages.of(len(req.Messages)))
}

func toolList(tools []llm.Tool, p *phrases) string {
	if len(tools) == 0 {
		return "\n" + p.noTools
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return "\n" + fmt.Sprintf(p.tools, strings.Join(names, ", "))
}

// quote returns the first runes of s on one line, in quotation marks.
func quote(s string, runes int) string {
	flat := []rune(strings.Join(strings.Fields(s), " "))
	if len(flat) > runes {
		flat = append(flat[:runes], '…')
	}
	return "“" + string(flat) + "”"
}

var (
	helpWords  = regexp.MustCompile(`(?i)^\W*(help|what can you do|how does this work)\b|帮助|你能做什么|怎么用`)
	thinkWords = regexp.MustCompile(`(?i)\bthink\b|\breason about\b|思考|想一想|想想`)
	waitWords  = regexp.MustCompile(`(?i)\bwait (?:for )?(\d+) ?s(?:ec(?:ond)?s?)?\b|等待? ?(\d+) ?秒`)
)

func wantsHelp(words string) bool {
	return helpWords.MatchString(words) || words == "?" || words == "？"
}

// wantsThought: on request whatever the session says, since a demo exists to be
// shown; else if the session wants thinking.
func wantsThought(words string, level llm.ThinkingLevel) bool {
	if level != llm.ThinkingDefault && level != llm.ThinkingOff {
		return true
	}
	return thinkWords.MatchString(words)
}

const maxWait = 10 * time.Minute

func readWait(words string) time.Duration {
	n := firstNumber(waitWords, words, int(maxWait/time.Second))
	return time.Duration(n) * time.Second
}

// firstNumber returns the number that one of the pattern's groups matched, at most
// most, or 0.
func firstNumber(pattern *regexp.Regexp, words string, most int) int {
	for i, group := range pattern.FindStringSubmatch(words) {
		if i == 0 || group == "" {
			continue
		}
		n, err := strconv.Atoi(group)
		if err != nil { // more digits than an int holds
			return most
		}
		return min(n, most)
	}
	return 0
}
