package demo

import (
	"regexp"
	"strconv"
	"strings"
)

const (
	maxCount = 20_000
	maxWords = 50_000
)

var (
	countTo    = regexp.MustCompile(`(?i)\bcount (?:up )?to (\d+)|数到 ?(\d+)`)
	writeWords = regexp.MustCompile(`(?i)\b(\d+)[ -]words?\b|(\d+) ?(?:个)?(?:字|词)`)
)

// longText writes what was asked for by length, or "".
func longText(words string, zh bool) string {
	if n := firstNumber(countTo, words, maxCount); n > 0 {
		return numbers(n)
	}
	if n := firstNumber(writeWords, words, maxWords); n > 0 {
		if zh {
			return characters(n)
		}
		return prose(n)
	}
	return ""
}

func numbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if i > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(i))
	}
	return b.String()
}

// prose is n words in sentences and paragraphs.
func prose(n int) string {
	stock := strings.Fields(`the session keeps every message and the server counts its tokens while
		a model reads them again before each answer so that nothing said is lost when the
		window fills and the oldest part becomes a summary that still knows what matters`)
	const sentence, paragraph = 12, 72
	var b strings.Builder
	for i := range n {
		word := stock[i%len(stock)]
		if i%sentence == 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
		switch {
		case i == n-1:
			b.WriteByte('.')
		case i%paragraph == paragraph-1:
			b.WriteString(".\n\n")
		case i%sentence == sentence-1:
			b.WriteString(". ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// characters is n Chinese characters with punctuation that is not counted.
func characters(n int) string {
	stock := []rune("会话保存每一条消息服务器计算它们的长度模型在回答之前重新阅读全部内容窗口将满时最早的部分变成摘要重要的事情不会丢失")
	const sentence = 20
	var b strings.Builder
	for i := range n {
		b.WriteRune(stock[i%len(stock)])
		if i == n-1 || i%sentence == sentence-1 {
			b.WriteRune('。')
		}
	}
	return b.String()
}
