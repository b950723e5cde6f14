package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/webp"
)

// decode reads a picture's pixels, of an animation the first frame's. Its header has
// been checked; what it takes is bounded by that.
func decode(format string, data []byte, h header) (img image.Image, err error) {
	defer contain(&err)
	r := bytes.NewReader(data)
	switch format {
	case pngType:
		img, err = png.Decode(r)
	case jpegType:
		img, err = jpeg.Decode(r)
	case gifType:
		img, err = gif.Decode(r)
	default:
		if h.frames > 1 || isAnimatedWebP(data) {
			return decodeFrame(data, h)
		}
		img, err = webp.Decode(r)
	}
	if err != nil {
		return nil, err
	}
	return onCanvas(img, image.Rect(0, 0, h.width, h.height)), nil
}

// onCanvas puts a picture where it belongs if it is a part of a larger one, as the frames
// of an animation may be.
func onCanvas(img image.Image, canvas image.Rectangle) image.Image {
	if img.Bounds() == canvas {
		return img
	}
	whole := image.NewRGBA(canvas)
	draw.Draw(whole, img.Bounds(), img, img.Bounds().Min, draw.Src)
	return whole
}

// frameHead is what stands in front of the chunks of a frame in a WebP.
const frameHead = 16

var errNoFrame = errors.New("an animation without a frame")

func isAnimatedWebP(data []byte) bool {
	for id := range webpChunks(data[12:]) {
		if id == "ANMF" {
			return true
		}
	}
	return false
}

// decodeFrame decodes the first frame of an animated WebP, which its decoder passes
// over: the frame is given to it as a picture of its own.
func decodeFrame(data []byte, h header) (image.Image, error) {
	for id, frame := range webpChunks(data[12:]) {
		if id != "ANMF" {
			continue
		}
		canvas := image.Rect(0, 0, h.width, h.height)
		area, err := frameArea(frame, canvas)
		if err != nil {
			return nil, err
		}
		img, err := webp.Decode(bytes.NewReader(stillOf(frame)))
		if err != nil {
			return nil, err
		}
		if area == canvas {
			return img, nil
		}
		whole := image.NewRGBA(canvas)
		draw.Draw(whole, area, img, image.Point{}, draw.Src)
		return whole, nil
	}
	return nil, errNoFrame
}

// stillOf makes a WebP of its own of a frame. Its head says how large it is, so that the
// decoder refuses pixels that say otherwise.
func stillOf(frame []byte) []byte {
	const alphaFlag = 1 << 4
	head := make([]byte, 10)
	copy(head[4:], frame[6:12]) // the size is written in the same way
	var pixels []byte
	for id, chunk := range webpChunks(frame[frameHead:]) {
		switch id {
		case "ALPH":
			head[0] = alphaFlag
		case "VP8 ", "VP8L":
		default:
			continue
		}
		pixels = appendChunk(pixels, id, chunk)
	}
	body := append(appendChunk([]byte("WEBP"), "VP8X", head), pixels...)
	return appendChunk(nil, "RIFF", body)
}

func appendChunk(to []byte, id string, data []byte) []byte {
	to = append(to, id...)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(data))) //nolint:gosec // chunks were taken from a file of at most maxFileBytes
	to = append(to, data...)
	if len(data)%2 == 1 {
		to = append(to, 0)
	}
	return to
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
