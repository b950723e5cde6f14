package v1

import (
	"reflect"

	"sessiond/message"
)

// wireBlock is a block of [Content] as it comes: which members it may have depends
// on its type, which may stand last.
type wireBlock struct {
	Type     BlockType `json:"type" doc:"What the block is."`
	Text     *string   `json:"text,omitempty" doc:"text: the text."`
	MimeType *string   `json:"mime_type,omitempty" v:"nonempty,max=256" doc:"image: its type."`
	Data     *string   `json:"data,omitempty" v:"nonempty,base64" doc:"image: its data in base64."`
}

func (b *wireBlock) check() *ParamError {
	isText := b.Type == BlockText
	for _, m := range []struct {
		name          string
		given, wanted bool
	}{
		{"text", b.Text != nil, isText},
		{"mime_type", b.MimeType != nil, !isText},
		{"data", b.Data != nil, !isText},
	} {
		switch {
		case m.given && !m.wanted:
			return &ParamError{Path: m.name, Reason: "is unknown in a block of type " + string(b.Type)}
		case !m.given && m.wanted:
			return &ParamError{Path: m.name, Reason: "is required"}
		}
	}
	return nil
}

func (b *wireBlock) block() ContentBlock {
	if b.Type == BlockText {
		return ContentBlock{Type: BlockText, Text: *b.Text}
	}
	return ContentBlock{Type: BlockImage, MimeType: *b.MimeType, Data: *b.Data}
}

// content consumes a [Content] and stores it in v.
func (c *cursor) content(s *schema, v reflect.Value) *ParamError {
	first, start := c.peek(), c.pos
	var content Content
	var size int64
	switch first {
	case '"':
		text, err := c.text()
		if err != nil {
			return err
		}
		content.Blocks = []ContentBlock{{Type: BlockText, Text: string(text)}}
		size = int64(len(text))
		if s.nonempty && size == 0 {
			return &ParamError{Reason: "must not be empty"}
		}
	case '[':
		content.Blocks = []ContentBlock{}
		err := c.array(func(int) *ParamError {
			var wire wireBlock
			if err := c.value(s.elem, reflect.ValueOf(&wire).Elem()); err != nil {
				return err
			}
			block := wire.block()
			if s.nonempty && block.Type == BlockText && block.Text == "" {
				return &ParamError{Path: "text", Reason: "must not be empty"}
			}
			size += int64(len(block.Text) + len(block.Data))
			content.Blocks = append(content.Blocks, block)
			return nil
		})
		if err != nil {
			return err
		}
		if s.nonempty && len(content.Blocks) == 0 {
			return &ParamError{Reason: "must not be empty"}
		}
	default:
		return c.mismatch("a string or a list of blocks")
	}
	if s.max != nil && size > *s.max {
		return &ParamError{Reason: tooLong(*s.max)}
	}
	content.Raw = c.data[start:c.pos:c.pos]
	v.Set(reflect.ValueOf(content))
	return nil
}

// TextContent is the content of one text block.
func TextContent(text string) Content {
	return Content{Blocks: []ContentBlock{{Type: BlockText, Text: text}}}
}

// MarshalJSON writes the content as it came, or as a list of blocks if it was built.
func (c Content) MarshalJSON() ([]byte, error) { return c.append(nil), nil }

func (c Content) append(dst []byte) []byte {
	if c.Raw != nil {
		return append(dst, c.Raw...)
	}
	dst = append(dst, '[')
	for i, b := range c.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = b.append(dst)
	}
	return append(dst, ']')
}

func (b ContentBlock) append(dst []byte) []byte {
	if b.Type == BlockText {
		dst = message.AppendString(append(dst, `{"type":"text","text":`...), b.Text)
		return append(dst, '}')
	}
	dst = message.AppendString(append(dst, `{"type":"image","mime_type":`...), b.MimeType)
	dst = message.AppendString(append(dst, `,"data":`...), b.Data)
	return append(dst, '}')
}
