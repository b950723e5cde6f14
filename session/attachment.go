package session

import (
	"encoding/base64"
	"fmt"
	"strings"

	"sessiond/message"
	"sessiond/tokens"
)

// Attachment is a file that comes with a message.
type Attachment struct {
	Name     string
	MimeType string
	Text     *string // exactly one of Text and Data is set
	Data     *string // standard base64
}

// Content joins a message's blocks with its attachments: images become image blocks,
// text is wrapped as <file>, both after the message's own text. Errors name the
// attachment: unsupported_media for what no model can be shown, invalid_param.
func Content(blocks []message.Block, files []Attachment) ([]message.Block, error) {
	for i, b := range blocks {
		if img, ok := b.(message.Image); ok {
			if err := checkImage(fmt.Sprintf("content[%d]", i), img); err != nil {
				return nil, err
			}
		}
	}
	content := append([]message.Block(nil), blocks...)
	for i, f := range files {
		path := fmt.Sprintf("attachments[%d]", i)
		switch {
		case (f.Text == nil) == (f.Data == nil):
			return nil, errInvalid(path, "has one of text and data")
		case f.Text != nil:
			text := message.Wrap("file", *f.Text, message.Attr{Name: "name", Value: f.Name}, message.Attr{Name: "type", Value: f.MimeType})
			content = append(content, message.Text{Text: text})
		default:
			img := message.Image{MimeType: f.MimeType, Data: *f.Data}
			if err := checkImage(path, img); err != nil {
				return nil, err
			}
			content = append(content, img)
		}
	}
	return content, nil
}

// checkImage refuses what is not one of the four formats that every provider takes, and
// what has no size: a broken image.
func checkImage(path string, img message.Image) error {
	switch img.MimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return errMedia(path, fmt.Sprintf("%q is neither png, jpeg, gif nor webp", img.MimeType))
	}
	if img.Data == "" {
		return errInvalid(path+".data", "is empty")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(img.Data)
	if err != nil {
		return errInvalid(path+".data", "is not standard base64: "+err.Error())
	}
	if strings.ContainsAny(img.Data, "\r\n") {
		return errInvalid(path+".data", "has line breaks; standard base64 has none")
	}
	if _, _, err := tokens.ImageSize(img.MimeType, raw); err != nil {
		return errMedia(path, err.Error())
	}
	return nil
}

func errMedia(path, why string) error {
	return &Error{
		Kind: KindUnsupportedMedia, Message: path + ": " + why, Data: map[string]any{"path": path},
	}
}
