package v1

import (
	"encoding/json"
	"reflect"
)

// Omission stands where a block's data over 64 KiB was left out; v1.message.get has
// it whole.
type Omission struct {
	Omitted bool   `json:"omitted,omitempty" doc:"true: the data is not here; v1.message.get has it."`
	Bytes   int64  `json:"bytes,omitempty" doc:"The size of the omitted data."`
	SHA256  string `json:"sha256,omitempty" doc:"SHA-256 of the omitted data, in hex."`
}

// TextBlock describes text as clients read it.
type TextBlock struct {
	Type string `json:"type" v:"const=text" doc:"text."`
	Text string `json:"text,omitempty" doc:"The text; absent only if omitted."`
	Omission
}

// ImageBlock describes an image as clients read it.
type ImageBlock struct {
	Type     string `json:"type" v:"const=image" doc:"image."`
	MimeType string `json:"mime_type" doc:"The image's type."`
	Data     string `json:"data,omitempty" v:"base64" doc:"The image in base64; absent only if omitted."`
	Omission
}

// ThinkingBlock describes a model's reasoning.
type ThinkingBlock struct {
	Type     string          `json:"type" v:"const=thinking" doc:"thinking."`
	Provider string          `json:"provider" doc:"Whose reasoning it is."`
	Text     string          `json:"text,omitempty" doc:"What may be shown of it; absent only if omitted."`
	Raw      json.RawMessage `json:"raw,omitempty" doc:"What the provider wants back, opaque."`
	Omission
}

// ToolUseBlock describes a model's request to run a tool.
type ToolUseBlock struct {
	Type  string          `json:"type" v:"const=tool_use" doc:"tool_use."`
	ID    string          `json:"id" doc:"The call's id, unique in the session."`
	Name  string          `json:"name" doc:"The tool."`
	Input json.RawMessage `json:"input,omitempty" v:"object" doc:"The tool's input, byte for byte as the model wrote it; absent only if omitted."`
	Omission
}

// ToolResultBlock describes the result of a tool call.
type ToolResultBlock struct {
	Type      string            `json:"type" v:"const=tool_result" doc:"tool_result."`
	ToolUseID string            `json:"tool_use_id" doc:"The call that it answers."`
	Content   []json.RawMessage `json:"content" v:"ref=Block" doc:"Text and image blocks."`
	IsError   bool              `json:"is_error" doc:"The tool failed."`
}

// blockTypes are the alternatives of a block in what clients read.
func blockTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[TextBlock](), reflect.TypeFor[ImageBlock](), reflect.TypeFor[ThinkingBlock](),
		reflect.TypeFor[ToolUseBlock](), reflect.TypeFor[ToolResultBlock](),
	}
}

// Content is what a client says: a string, or a list of text and image blocks. A
// string is the same as one text block. Where it must not be empty it has at least
// one block, and no text is empty.
type Content struct {
	Blocks []ContentBlock
	// Raw is the content as it was sent. It shares the frame's memory: clone it to
	// keep it.
	Raw json.RawMessage
}

// BlockType is the type of a block that clients may send.
type BlockType string

// The blocks clients may send.
const (
	BlockText  BlockType = "text"
	BlockImage BlockType = "image"
)

func (BlockType) enum() []string { return []string{string(BlockText), string(BlockImage)} }

// ContentBlock is a piece of [Content]: Text of a text block, MimeType and Data
// (standard base64) of an image block.
type ContentBlock struct {
	Type     BlockType
	Text     string
	MimeType string
	Data     string
}
