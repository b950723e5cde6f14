package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// What is decoded at the most. Phones take pictures of 12 to 50 megapixels; beyond that
// are panoramas, and files that are made to fill memory.
const (
	maxPixels       = 50_000_000
	maxDecodedBytes = 400_000_000
)

// header is what the first bytes of a picture, and what stands around its pixels, tell.
type header struct {
	width, height int
	orientation   int  // how it is to be turned, as EXIF counts: 1 is upright
	frames        int  // of an animation; at least 1
	endless       bool // it ends before its end
	lossy         bool
	decodedBytes  int // what it takes to decode, at the most
}

// readHeader reads what can be known without decoding, or says what is wrong.
func readHeader(format string, data []byte) (h header, reason string) {
	config, err := readConfig(format, data)
	if err != nil {
		return header{}, damage(err)
	}
	if config.Width < 1 || config.Height < 1 {
		return header{}, "is a picture without a size"
	}
	h = header{width: config.Width, height: config.Height, orientation: upright, frames: 1}
	if h.pixels() > maxPixels {
		return header{}, fmt.Sprintf("has %d by %d pixels; up to %d megapixels are taken", h.width, h.height, maxPixels/1_000_000)
	}
	switch format {
	case pngType:
		h.readPNG(data, config.ColorModel)
	case jpegType:
		h.readJPEG(data)
	case gifType:
		h.decodedBytes = 5 * h.pixels() // its first frame in a palette, and in colour
		frames, end := gifFrames(data)
		h.frames, h.endless = max(len(frames), 1), !end
	case webpType:
		h.decodedBytes = 12 * h.pixels() // a lossless one, its transforms included
		h.readWebP(data)
	}
	if h.decodedBytes > maxDecodedBytes {
		return header{}, fmt.Sprintf("has %d by %d pixels, which take %d MB to decode; up to %d MB are taken",
			h.width, h.height, h.decodedBytes/1_000_000, maxDecodedBytes/1_000_000)
	}
	return h, ""
}

func (h header) pixels() int { return h.width * h.height }

// readConfig reads the size, with the decoder that will read the pixels, so that both
// mean the same.
func readConfig(format string, data []byte) (config image.Config, err error) {
	defer contain(&err)
	r := bytes.NewReader(data)
	switch format {
	case pngType:
		return png.DecodeConfig(r)
	case jpegType:
		return jpeg.DecodeConfig(r)
	case gifType:
		return gif.DecodeConfig(r)
	default:
		return webp.DecodeConfig(r)
	}
}

// readPNG goes from chunk to chunk. What the pixels take depends on their depth, and
// twice as much if they come interlaced.
func (h *header) readPNG(data []byte, model color.Model) {
	const ihdr, interlace = 8, 28 // where the first chunk, and a byte of it, stand
	perPixel := 4
	if model == color.NRGBA64Model || model == color.RGBA64Model || model == color.Gray16Model {
		perPixel = 8
	}
	if len(data) > interlace && data[interlace] != 0 {
		perPixel *= 2
	}
	h.decodedBytes = perPixel * h.pixels()
	for rest := data[ihdr:]; len(rest) >= 12; {
		size := int(binary.BigEndian.Uint32(rest))
		if size < 0 || size > len(rest)-12 {
			return
		}
		if begins(rest[4:], "eXIf") {
			h.orientation = readOrientation(rest[8 : 8+size])
		}
		rest = rest[12+size:]
	}
}

// Markers of JPEG segments.
const (
	jpegEXIF  = 0xe1
	jpegScan  = 0xda
	jpegEnd   = 0xd9
	jpegFirst = 0xc0 // of those that begin a frame
	jpegLast  = 0xcf
)

// readJPEG goes from segment to segment, up to the pixels. What it can't make sense of
// it passes over, as decoders do.
func (h *header) readJPEG(data []byte) {
	h.lossy = true
	h.decodedBytes = 20 * h.pixels() // four components, progressive
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff {
			at++
			continue
		}
		marker := data[at+1]
		switch {
		case marker == 0xff:
			at++
			continue
		case marker == 0 || marker == 0x01 || marker >= 0xd0 && marker <= 0xd8: // nothing follows
			at += 2
			continue
		case marker == jpegScan || marker == jpegEnd:
			return
		}
		size := int(binary.BigEndian.Uint16(data[at+2:]))
		if size < 2 || at+2+size > len(data) {
			return
		}
		segment := data[at+4 : at+2+size]
		switch {
		case marker == jpegEXIF && begins(segment, "Exif\x00\x00"):
			h.orientation = readOrientation(segment[6:])
		case marker >= jpegFirst && marker <= jpegLast && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			h.readFrame(segment, marker == 0xc2)
		}
		at += 2 + size
	}
}

// readFrame reads from a frame's segment what its components take: a byte for each
// sample, and if they come progressively four more until all are there. Four components
// take another four bytes a pixel, for their colours.
func (h *header) readFrame(segment []byte, progressive bool) {
	const first = 6 // where the components are listed, three bytes each
	if len(segment) < first {
		return
	}
	n := int(segment[5])
	if n < 1 || n > 4 || len(segment) < first+3*n {
		return
	}
	samples, maxH, maxV := 0, 1, 1 // in an area of maxH by maxV pixels
	for c := range n {
		across, down := int(segment[first+3*c+1]>>4), int(segment[first+3*c+1]&15)
		samples += across * down
		maxH, maxV = max(maxH, across), max(maxV, down)
	}
	perSample := 1
	if progressive {
		perSample = 5
	}
	h.decodedBytes = h.pixels()*samples*perSample/(maxH*maxV) + 1
	if n == 4 {
		h.decodedBytes += 4 * h.pixels()
	}
}

// readWebP goes from chunk to chunk.
func (h *header) readWebP(data []byte) {
	frames := 0
	for id, chunk := range webpChunks(data[12:]) {
		switch id {
		case "VP8 ":
			h.lossy = true
		case "ANMF":
			frames++
			if frames == 1 && len(chunk) > frameHead {
				for id := range webpChunks(chunk[frameHead:]) {
					h.lossy = h.lossy || id == "VP8 "
				}
			}
		case "EXIF":
			h.orientation = readOrientation(bytes.TrimPrefix(chunk, []byte("Exif\x00\x00")))
		}
	}
	h.frames, h.endless = max(frames, 1), !webpEnds(data)
}

// webpChunks ranges over the chunks of a WebP, as far as they are whole.
func webpChunks(data []byte) func(yield func(id string, chunk []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for len(data) >= 8 {
			size := int(binary.LittleEndian.Uint32(data[4:]))
			if size < 0 || size > len(data)-8 {
				return
			}
			if !yield(string(data[:4]), data[8:8+size]) {
				return
			}
			data = data[min(8+size+size&1, len(data)):]
		}
	}
}

// damage says in words why a picture can't be decoded.
func damage(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "is cut off: its data ends too early"
	}
	return "is damaged: " + err.Error()
}

// contain turns a panic of a decoder into an error.
func contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("its decoder failed: %v", r)
	}
}
