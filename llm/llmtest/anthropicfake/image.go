package anthropicfake

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	goimage "image"
	_ "image/gif"  // to read sizes
	_ "image/jpeg" // to read sizes
	_ "image/png"  // to read sizes
	"math"
)

const (
	maxImageBytes = 10 << 20 // of base64
	maxImageEdge  = 8000
	manyImages    = 20 // over it every image is held to manyEdge
	manyEdge      = 2000
	maxImages     = 600
	maxImagesOld  = 100 // on models with a small window
	patch         = 28
)

// image is what a picture that came in is like.
type image struct {
	where         string // below its block's path
	kind          string // base64, url or file
	mime, real    string // as it was called, as it is; real is "" if it can't be read
	bytes         int    // of base64
	width, height int
	problem       string // what is wrong with its source, "" if nothing
}

// readImage reads a source and says what it means, for a digest, and what it is.
func readImage(source json.RawMessage) (meaning []string, img image) {
	var src struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
		FileID    string `json:"file_id"`
	}
	img = image{where: "image"}
	if json.Unmarshal(source, &src) != nil {
		img.problem = "source: Input should be a valid dictionary"
		return []string{string(source)}, img
	}
	img.kind, img.mime, img.bytes = src.Type, src.MediaType, len(src.Data)
	switch src.Type {
	case "url", "file":
	case "base64":
		img.readData(src.Data)
	default:
		img.problem = "source: Input tag '" + src.Type + "' found using 'type' does not match any of the expected tags: 'base64', 'url', 'file'"
	}
	return []string{src.Type, src.MediaType, src.Data, src.URL, src.FileID}, img
}

func (img *image) readData(data string) {
	switch img.mime {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
	default:
		img.problem = "source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
		return
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		img.problem = "source.base64.data: Invalid base64 data"
		return
	}
	img.real, img.width, img.height = imageSize(raw)
}

// imageSize reads the header of a picture.
func imageSize(data []byte) (mime string, width, height int) {
	if w, h, ok := webpSize(data); ok {
		return "image/webp", w, h
	}
	config, format, err := goimage.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "", 0, 0
	}
	return "image/" + format, config.Width, config.Height
}

// webpSize reads the three kinds of WebP headers.
func webpSize(data []byte) (width, height int, ok bool) {
	const header = 30
	if len(data) < header || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return 0, 0, false
	}
	switch string(data[12:16]) {
	case "VP8X":
		width = 1 + int(data[24]) + int(data[25])<<8 + int(data[26])<<16
		height = 1 + int(data[27]) + int(data[28])<<8 + int(data[29])<<16
	case "VP8L":
		bits := binary.LittleEndian.Uint32(data[21:])
		width, height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8 ":
		width = int(binary.LittleEndian.Uint16(data[26:]) & 0x3fff)
		height = int(binary.LittleEndian.Uint16(data[28:]) & 0x3fff)
	default:
		return 0, 0, false
	}
	return width, height, true
}

// tokens is what a picture costs after it was scaled down to what the model takes.
func (img image) tokens(m Model) int {
	w, h := float64(img.width), float64(img.height)
	if w == 0 || h == 0 {
		return m.ImageTokens // not known here: the most it can be
	}
	if edge := max(w, h); edge > float64(m.ImageEdge) {
		w, h = w*float64(m.ImageEdge)/edge, h*float64(m.ImageEdge)/edge
	}
	patches := math.Ceil(w/patch) * math.Ceil(h/patch)
	return int(min(patches, float64(m.ImageTokens)))
}

// checkImages applies the limits on pictures, wherever in the request they are.
func (r *request) checkImages() *apiError {
	count := r.imageCount()
	most := maxImages
	if r.model.WindowTokens <= k200 {
		most = maxImagesOld
	}
	if count > most {
		return invalid("messages: too many images in the request: %d > %d", count, most)
	}
	for _, t := range r.turns {
		for _, b := range t.blocks {
			for _, img := range b.facts.images {
				if err := img.check(at(b.path, img.where), count); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *request) imageCount() int {
	n := 0
	for _, t := range r.turns {
		for _, b := range t.blocks {
			n += len(b.facts.images)
		}
	}
	return n
}

func (img image) check(path string, count int) *apiError {
	edge := max(img.width, img.height)
	data := at(path, "source.base64.data")
	var err *apiError
	switch {
	case img.problem != "":
		return invalid("%s", at(path, img.problem))
	case img.kind != "base64":
		return nil
	case img.bytes > maxImageBytes:
		return invalid("%s: image exceeds 10 MB maximum: %d bytes > %d bytes", at(path, "source.base64"), img.bytes, maxImageBytes)
	case img.real == "":
		return invalid("%s: Could not process image", path)
	case img.real != img.mime:
		return invalid("%s: Image does not match the provided media type %s", data, img.mime)
	case edge > maxImageEdge:
		err = invalid("%s: At least one of the image dimensions exceed max allowed size: %d pixels", data, maxImageEdge)
	case count > manyImages && edge > manyEdge:
		err = invalid("%s: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", data, manyEdge)
	default:
		return nil
	}
	err.code = "image_dimensions_too_large"
	return err
}
