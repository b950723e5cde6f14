package prompt

import (
	"encoding/base64"
	"errors"
	"strings"
)

// imageInfo is what the first bytes of an image say. A size of 0 is one that stands too
// far behind to be looked for.
type imageInfo struct {
	mimeType      string
	width, height int
}

// headBytes of an image are decoded: enough for a JPEG with a colour profile and a
// preview in front of its size.
const headBytes = 192 << 10

var (
	errNoImage  = errors.New("not a PNG, JPEG, GIF or WebP image")
	errNoBase64 = errors.New("not in base64")
)

// inspect reads an image in base64.
func inspect(data string) (imageInfo, error) {
	if !isBase64(data) {
		return imageInfo{}, errNoBase64
	}
	head := data
	if len(head) > headBytes/3*4 {
		head = head[:headBytes/3*4]
	}
	raw, err := base64.StdEncoding.DecodeString(head)
	if err != nil {
		return imageInfo{}, errNoBase64
	}
	s := string(raw)
	switch {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n") && len(s) >= 24:
		return imageInfo{"image/png", bigEndian(s[16:20]), bigEndian(s[20:24])}, nil
	case (strings.HasPrefix(s, "GIF87a") || strings.HasPrefix(s, "GIF89a")) && len(s) >= 10:
		return imageInfo{"image/gif", littleEndian(s[6:8]), littleEndian(s[8:10])}, nil
	case strings.HasPrefix(s, "RIFF") && len(s) >= 30 && s[8:12] == "WEBP":
		return webp(s)
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return jpeg(s), nil
	}
	return imageInfo{}, errNoImage
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

func webp(s string) (imageInfo, error) {
	const bits14 = 1<<14 - 1
	info := imageInfo{mimeType: "image/webp"}
	switch s[12:16] {
	case "VP8 ":
		info.width, info.height = littleEndian(s[26:28])&bits14, littleEndian(s[28:30])&bits14
	case "VP8L":
		n := littleEndian(s[21:25])
		info.width, info.height = n&bits14+1, n>>14&bits14+1
	case "VP8X":
		info.width, info.height = littleEndian(s[24:27])+1, littleEndian(s[27:30])+1
	default:
		return imageInfo{}, errNoImage
	}
	return info, nil
}

// jpeg walks over the segments to the one that begins a frame.
func jpeg(s string) imageInfo {
	info := imageInfo{mimeType: "image/jpeg"}
	for i := 2; i+9 <= len(s) && s[i] == 0xff; {
		switch marker := s[i+1]; {
		case marker == 0xff: // filling
			i++
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			info.height, info.width = bigEndian(s[i+5:i+7]), bigEndian(s[i+7:i+9])
			return info
		default:
			i += 2 + bigEndian(s[i+2:i+4])
		}
	}
	return info
}

func bigEndian(s string) int {
	n := 0
	for i := range len(s) {
		n = n<<8 | int(s[i])
	}
	return n
}

func littleEndian(s string) int {
	n := 0
	for i := len(s) - 1; i >= 0; i-- {
		n = n<<8 | int(s[i])
	}
	return n
}
