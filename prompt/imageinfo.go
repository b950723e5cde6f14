package prompt

import (
	"encoding/base64"
	"errors"
	"strings"

	"sessiond/tokens"
)

// imageInfo is what an image says of itself.
type imageInfo struct {
	mimeType      string
	width, height int
}

// headBytes of an image are decoded: enough for most JPEGs with a colour profile and a
// preview in front of their size. If it isn't there, all of the image is.
const headBytes = 192 << 10

var (
	errNoImage  = errors.New("not a PNG, JPEG, GIF or WebP image")
	errNoBase64 = errors.New("not in base64")
	errNoSize   = errors.New("no size can be read")
)

// inspect reads an image in base64. An image without a size, or with one of 0, is
// broken: no provider takes it.
func inspect(data string) (imageInfo, error) {
	if !isBase64(data) {
		return imageInfo{}, errNoBase64
	}
	head := data[:min(len(data), headBytes/3*4)]
	info, err := inspectHead(head)
	if errors.Is(err, errNoSize) && len(head) < len(data) {
		return inspectHead(data)
	}
	return info, err
}

func inspectHead(head string) (imageInfo, error) {
	raw, err := base64.StdEncoding.DecodeString(head)
	if err != nil {
		return imageInfo{}, errNoBase64
	}
	kind := imageType(string(raw[:min(len(raw), len("RIFF....WEBP"))]))
	if kind == "" {
		return imageInfo{}, errNoImage
	}
	w, h, err := tokens.ImageSize(kind, raw)
	if err != nil {
		return imageInfo{}, errNoSize
	}
	return imageInfo{mimeType: kind, width: w, height: h}, nil
}

// imageType tells what an image is by how it begins.
func imageType(s string) string {
	switch {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "RIFF") && strings.HasSuffix(s, "WEBP"):
		return "image/webp"
	}
	return ""
}

// isBase64 checks all of data without decoding it.
func isBase64(data string) bool {
	body := strings.TrimRight(data, "=")
	if data == "" || len(data)%4 != 0 || len(data)-len(body) > 2 {
		return false
	}
	for i := range len(body) {
		c := body[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}
