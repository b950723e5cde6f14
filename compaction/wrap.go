package compaction

import "strings"

// wrap puts text between tags of a name; attrs, if any, follows the name. A closing tag
// of that name inside the text is escaped, so that content can't end its wrapper.
func wrap(name, attrs, text string) string {
	var b strings.Builder
	b.WriteString("<" + name + attrs + ">\n")
	b.WriteString(escapeClosing(name, text))
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString("</" + name + ">")
	return b.String()
}

// escapeClosing writes every "</name" in text, whatever its case, as "&lt;/name".
func escapeClosing(name, text string) string {
	tag := "</" + name
	var b strings.Builder
	for {
		i := strings.Index(text, "</")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		if text = text[i:]; len(text) >= len(tag) && strings.EqualFold(text[:len(tag)], tag) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
		text = text[1:]
	}
	b.WriteString(text)
	return b.String()
}

// attr makes text fit between the quotes of an attribute.
func attr(text string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ").Replace(text)
}
