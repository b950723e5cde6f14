package ingest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"sessiond/message"
	"sessiond/tokens"
)

// File is a file that came with a message.
type File struct {
	Name     string  // as its sender calls it; shown to the model
	MimeType string  // as its sender declares it; a charset parameter is heeded
	Text     *string // exactly one of Text and Data is set
	Data     *string // standard base64
}

// Counter counts and cuts text by tokens; tokens.Encoding is one.
type Counter interface {
	Count(text string) int
	Head(text string, n int) string // the longest prefix of at most n tokens
	Tail(text string, n int) string // the longest suffix of at most n tokens
}

// Options says what content may cost and what can be read. The zero value of all but
// Counter is usable.
type Options struct {
	// Counter counts text. It must be set.
	Counter Counter
	// ImageTokens is what a picture of w by h pixels costs by the formula of the
	// provider; nil means tokens.AnthropicImageTokens. It must not fall as a side grows.
	ImageTokens func(w, h int) int
	// MaxFileTokens is the most that is shown of one file or picture, in tokens; 0 means
	// no limit. Longer texts are shown by head and tail, larger pictures scaled down.
	MaxFileTokens int
	// MaxTokens is the most for all of the content together; 0 means no limit. Where the
	// files don't fit, each gets an equal share, and small ones stay whole. The words of
	// the message are never cut.
	MaxTokens int
	// Animated says that the provider takes animated pictures. If not, the first frame is
	// taken instead.
	Animated bool
	// PDF reads PDFs; nil means that they are refused.
	PDF PDFReader
}

// maxFileBytes is the most bytes of one file: far over what a frame may have, and far
// under what would hurt.
const maxFileBytes = 32 << 20

// Result is a message's content.
type Result struct {
	// Blocks are to be stored: those that were given, pictures as they will be sent, and
	// a block for each file after them.
	Blocks []message.Block
	// Parts has for each block what it costs and how it is shown.
	Parts []Part
}

// Part tells about one block of the content.
type Part struct {
	File int // the index among the files, or -1 for a block that was given
	// Tokens is what the whole block costs.
	Tokens int
	// Cut says how a text is shown that is longer than it may be; nil if it is whole.
	Cut *Cut
	// Width and Height are a picture's, in pixels, as it is stored.
	Width, Height int
	// Changes says in words what was done to a file: "scaled from 4032 by 3024 to 2000 by
	// 1500 pixels", "decoded from UTF-16LE". It is empty if the bytes are the sender's.
	Changes []string
}

// Shown is what the block costs as it is shown.
func (p Part) Shown() int {
	if p.Cut != nil {
		return p.Cut.Tokens
	}
	return p.Tokens
}

// Tokens is what all of the content costs as it is shown.
func (r Result) Tokens() int {
	n := 0
	for _, p := range r.Parts {
		n += p.Shown()
	}
	return n
}

// Files joins the blocks of a message, texts and pictures, with the files that came with
// it. It changes neither, and either all are taken or none. Content that is refused is
// told by an [*Error]; any other error is of Options.PDF or a Counter that isn't set.
// It takes time: up to some seconds for large pictures.
func Files(blocks []message.Block, files []File, o Options) (Result, error) {
	if o.Counter == nil {
		return Result{}, errors.New("ingest: no counter")
	}
	if o.ImageTokens == nil {
		o.ImageTokens = tokens.AnthropicImageTokens
	}
	items, err := o.read(blocks, files)
	if err != nil {
		return Result{}, err
	}
	limits, err := o.share(items)
	if err != nil {
		return Result{}, err
	}
	var out Result
	for i, it := range items {
		block, part, err := it.build(o, limits[i])
		if err != nil {
			return Result{}, err
		}
		part.File = it.at().file
		out.Blocks = append(out.Blocks, block)
		out.Parts = append(out.Parts, part)
	}
	return out, nil
}

// item is a block to be. What it costs is known before it is made.
type item interface {
	at() place
	// cost is what it takes if nothing limits it, and at the least.
	cost(o Options) (wanted, least int)
	// build makes the block, shown in at most limit tokens.
	build(o Options, limit int) (message.Block, Part, error)
}

// words are a text block of the message: neither wrapped nor cut.
type words struct {
	place
	text   string
	tokens int
}

func (w words) at() place                        { return w.place }
func (w words) cost(Options) (wanted, least int) { return w.tokens, w.tokens }

func (w words) build(Options, int) (message.Block, Part, error) {
	return message.Text{Text: w.text}, Part{Tokens: w.tokens}, nil
}

// read looks at everything without decoding pictures.
func (o Options) read(blocks []message.Block, files []File) ([]item, error) {
	var items []item
	for i, b := range blocks {
		at := blockAt(i)
		switch b := b.(type) {
		case message.Text:
			items = append(items, words{at, b.Text, o.Counter.Count(b.Text)})
		case message.Image:
			p, err := readImageBlock(at, b)
			if err != nil {
				return nil, err
			}
			items = append(items, p)
		case message.Thinking, message.ToolUse, message.ToolResult:
			return nil, at.invalid("", fmt.Sprintf("is a %T; text and images are taken", b))
		}
	}
	for i, f := range files {
		it, err := o.readFile(fileAt(i, f.Name), f)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

func readImageBlock(at place, img message.Image) (item, error) {
	raw, err := decodeBase64(at, img.Data)
	switch {
	case err != nil:
		return nil, err
	case len(raw) == 0:
		return nil, at.invalid(".data", "is empty")
	}
	format := sniffPicture(raw)
	if format == "" {
		return nil, at.unsupported(notPicture(img.MimeType, raw))
	}
	return readPicture(at, format, img.MimeType, img.Data, raw)
}

// readFile finds out what a file is.
func (o Options) readFile(at place, f File) (item, error) {
	switch {
	case (f.Text == nil) == (f.Data == nil):
		return nil, at.invalid("", "has one of text and data")
	case f.Text != nil && isPictureType(f.MimeType):
		return nil, at.unsupported(fmt.Sprintf("is declared as %s, but came as text", cleanType(f.MimeType)))
	case f.Text != nil && len(*f.Text) > maxFileBytes:
		return nil, at.overBytes(len(*f.Text), maxFileBytes)
	case f.Text != nil && !utf8.ValidString(*f.Text):
		return nil, at.invalid(".text", "is not valid UTF-8")
	case f.Text != nil:
		return o.newDocument(at, f.MimeType, strings.TrimPrefix(*f.Text, byteOrderMark), nil), nil
	}
	raw, err := decodeBase64(at, *f.Data)
	if err != nil {
		return nil, err
	}
	format := sniffPicture(raw)
	switch {
	case format != "":
		return readPicture(at, format, f.MimeType, *f.Data, raw)
	case isPictureType(f.MimeType) && len(raw) == 0:
		return nil, at.invalid(".data", "is empty")
	case isPictureType(f.MimeType):
		return nil, at.unsupported(notPicture(f.MimeType, raw))
	case isPDF(raw):
		return o.readPDF(at, raw)
	}
	if kind := sniffForeign(raw); kind != "" {
		return nil, at.unsupported("is " + kind + "; pictures, text and PDFs are taken")
	}
	text, encoding, reason := decodeText(raw, charsetOf(f.MimeType))
	if reason != "" {
		return nil, at.unsupported(reason)
	}
	var changes []string
	if encoding != utf8Name {
		changes = append(changes, "decoded from "+encoding)
	}
	declared := f.MimeType
	if cleanType(declared) == pdfType {
		declared = plainType
	}
	return o.newDocument(at, declared, text, changes), nil
}

func decodeBase64(at place, data string) ([]byte, error) {
	if size := base64.StdEncoding.DecodedLen(len(data)); size > maxFileBytes+2 {
		return nil, at.overBytes(size, maxFileBytes)
	}
	switch {
	case strings.HasPrefix(data, "data:"):
		return nil, at.invalid(".data", "is a data URL; base64 is what follows its comma")
	case strings.ContainsAny(data, "\r\n"):
		return nil, at.invalid(".data", "has line breaks; standard base64 has none")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil {
		return nil, at.invalid(".data", "is not standard base64: "+err.Error())
	}
	return raw, nil
}
