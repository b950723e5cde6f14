package openaifake

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"image"
	_ "image/gif"  // so that sizes can be read
	_ "image/jpeg" // so that sizes can be read
	_ "image/png"  // so that sizes can be read
	"regexp"
	"strings"
)

const (
	patchSide  = 32
	maxPatches = 30_000
)

var dataURL = regexp.MustCompile(`^data:(image/(?:png|jpeg|gif|webp));base64,`)

// checkImage checks an image (rule 8.8). A link is believed, as nothing is fetched.
func checkImage(url, at string, p *parsed) *apiError {
	if p.model.NoImages {
		return invalid("images", at, "", "Invalid content type. image_url is only supported by certain models.")
	}
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		p.units = append(p.units, unit{key: "image " + url, tokens: 1})
		return nil
	}
	m := dataURL.FindStringSubmatch(url)
	if m == nil {
		return invalid("images", at, "invalid_image_format",
			"You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].")
	}
	raw, err := base64.StdEncoding.DecodeString(url[len(m[0]):])
	if err != nil || len(raw) == 0 {
		return invalid("images", at, "invalid_base64", "Invalid base64 image_url.")
	}
	tokens := int64(1)
	if m[1] != "image/webp" { // the standard library can't read that
		size, kind, err := image.DecodeConfig(bytes.NewReader(raw))
		if err != nil || "image/"+kind != m[1] {
			return invalid("images", at, "invalid_image_format", "You uploaded an unsupported image. Please make sure your image is valid.")
		}
		tokens = int64((size.Width+patchSide-1)/patchSide) * int64((size.Height+patchSide-1)/patchSide)
		if tokens > maxPatches {
			return invalid("8.8", at, "invalid_image", "This image requires %d patches after processing, exceeding the limit of %d.", tokens, maxPatches)
		}
	}
	sum := sha256.Sum256(raw)
	p.units = append(p.units, unit{key: "image " + string(sum[:]), tokens: tokens})
	return nil
}
