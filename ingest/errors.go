package ingest

import (
	"fmt"
	"strings"

	"sessiond/message"
)

// Kind names what is wrong with a file in a way that callers can branch on.
type Kind string

// The kinds. The set is closed.
const (
	// KindUnsupportedMedia is a file that no model can be shown: of a kind that isn't
	// taken, damaged, or not what it says.
	KindUnsupportedMedia Kind = "unsupported_media"
	// KindInvalidParam is a file that came in a wrong form, such as bad base64.
	KindInvalidParam Kind = "invalid_param"
	// KindTooLarge is content that can't be made small enough. Tokens and MaxTokens, or
	// Bytes and MaxBytes, tell by how much.
	KindTooLarge Kind = "content_too_large"
)

// Error says why a message's content is refused. All of it may be shown to the sender.
type Error struct {
	Kind Kind
	// Path is the member at fault: content[1], attachments[0], attachments[0].data, or
	// content or attachments as a whole.
	Path string
	// File is the index among the files, or -1 if it isn't one of them, and Name its
	// name, made safe to show.
	File   int
	Name   string
	Reason string

	Tokens, MaxTokens int // 0 if bytes decide
	Bytes, MaxBytes   int // 0 if tokens decide
}

func (e *Error) Error() string {
	if e.Name == "" {
		return e.Path + ": " + e.Reason
	}
	return fmt.Sprintf("%s (%s): %s", e.Path, e.Name, e.Reason)
}

// UnreadableError is why a [PDFReader] can't read a file, in words that go on after the
// file's name: "is protected by a password".
type UnreadableError string

func (e UnreadableError) Error() string { return string(e) }

// place is where a file or block stands in the message, for errors.
type place struct {
	path string
	file int // -1 for blocks
	name string
}

func blockAt(i int) place { return place{path: fmt.Sprintf("content[%d]", i), file: -1} }

func fileAt(i int, name string) place {
	return place{path: fmt.Sprintf("attachments[%d]", i), file: i, name: showName(name)}
}

func (p place) fail(kind Kind, reason string) *Error {
	return &Error{Kind: kind, Path: p.path, File: p.file, Name: p.name, Reason: reason}
}

func (p place) unsupported(reason string) *Error { return p.fail(KindUnsupportedMedia, reason) }

func (p place) invalid(member, reason string) *Error {
	e := p.fail(KindInvalidParam, reason)
	e.Path += member
	return e
}

func (p place) overTokens(have, most int) *Error {
	e := p.fail(KindTooLarge, fmt.Sprintf("takes %d tokens at the least; %d fit", have, most))
	e.Tokens, e.MaxTokens = have, most
	return e
}

func (p place) overBytes(have, most int) *Error {
	e := p.fail(KindTooLarge, fmt.Sprintf("has %d bytes; %d are taken", have, most))
	e.Bytes, e.MaxBytes = have, most
	return e
}

// maxNameBytes is as much of a name as is shown.
const maxNameBytes = 256

// showName returns a name that fits on a line and shows what it is.
func showName(name string) string {
	if len(name) > maxNameBytes {
		name = strings.ToValidUTF8(name[:maxNameBytes], "") + "…"
	}
	return strings.TrimSpace(message.OneLine(name))
}
