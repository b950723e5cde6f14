package compaction

import (
	_ "embed" // the prompts
	"strconv"
	"strings"

	"sessiond/message"
)

// The words the summariser is told. What is filled in comes from the server.
var (
	//go:embed prompts/summary.txt
	promptSummary string
	//go:embed prompts/frame.txt
	promptFrame string
	//go:embed prompts/system.txt
	promptSystem string
	//go:embed prompts/appended.txt
	promptAppended string
	//go:embed prompts/kept.txt
	promptKept string
	//go:embed prompts/transcript.txt
	promptTranscript string
	//go:embed prompts/shorter.txt
	promptShorter string
)

// fill puts values in the place of names in double braces.
func fill(prompt string, namesAndValues ...string) string {
	pairs := make([]string, len(namesAndValues))
	for i, s := range namesAndValues {
		if i%2 == 0 {
			s = "{{" + s + "}}"
		}
		pairs[i] = s
	}
	return strings.NewReplacer(pairs...).Replace(strings.TrimSpace(prompt))
}

// task is what the summariser is asked to write, frame included: the frame stays when
// the user has an instruction of their own.
func task(instruction, language string, words int) string {
	body := strings.TrimSpace(promptSummary)
	if instruction != "" {
		body = "Write the notes that will stand in for the messages, as the user asked:\n" + message.Wrap("instruction", instruction)
	}
	return body + "\n\n" + fill(promptFrame, "language", languageDirective(language), "words", strconv.Itoa(words))
}
