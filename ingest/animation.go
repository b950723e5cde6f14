package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/gif"

	"golang.org/x/image/webp"
)

// What is decoded of an animation to know that all of it can be: much more than fits into
// the bytes that a picture may keep, and little enough for some seconds.
const (
	maxFrames      = 1000
	maxFramePixels = 100_000_000 // of all frames together
)

// Why only the first frame of an animation is taken, in words that go on after the number
// of its frames.
const (
	tooManyParts = ", which are too many to check"
	damagedParts = ", as others are cut off or damaged"
)

// frame is one of an animation's.
type frame struct {
	width, height int
	file          func() []byte // as a picture of its own
}

// checkFrames decodes the frames of an animation one by one, and says why it can't be sent
// as it is, or that it can. A viewer that decodes them all refuses the whole picture for
// one that is broken.
func checkFrames(format string, data []byte) (why string, ok bool) {
	frames, whole := framesOf(format, data)
	if !whole {
		return damagedParts, false
	}
	pixels := 0
	for _, f := range frames {
		pixels += f.width * f.height
	}
	if len(frames) > maxFrames || pixels > maxFramePixels {
		return tooManyParts, false
	}
	for _, f := range frames {
		if decodeStill(format, f.file()) != nil {
			return damagedParts, false
		}
	}
	return "", true
}

func decodeStill(format string, file []byte) (err error) {
	defer contain(&err)
	if format == gifType {
		_, err = gif.Decode(bytes.NewReader(file))
		return err
	}
	_, err = webp.Decode(bytes.NewReader(file))
	return err
}

// framesOf takes an animation apart; it isn't whole if it has no end or a part of it
// isn't one. Of one that is not, the frames are not told.
func framesOf(format string, data []byte) (frames []frame, whole bool) {
	if format == gifType {
		parts, end := gifFrames(data)
		if !end {
			return nil, false
		}
		head := data[:gifHead(data)]
		for _, p := range parts {
			frames = append(frames, frame{
				width: int(binary.LittleEndian.Uint16(p[5:])), height: int(binary.LittleEndian.Uint16(p[7:])),
				file: func() []byte { return append(append(bytes.Clone(head), p...), gifTrailer) },
			})
		}
		return frames, true
	}
	if !webpEnds(data) {
		return nil, false
	}
	config, err := readConfig(format, data)
	if err != nil {
		return nil, false
	}
	for id, chunk := range webpChunks(data[12:]) {
		if id != "ANMF" {
			continue
		}
		area, err := frameArea(chunk, image.Rect(0, 0, config.Width, config.Height))
		if err != nil {
			return nil, false
		}
		frames = append(frames, frame{area.Dx(), area.Dy(), func() []byte { return stillOf(chunk) }})
	}
	return frames, true
}

// The parts of a GIF.
const (
	gifHeaderSize     = 13
	gifDescriptorSize = 10
	gifExtension      = 0x21
	gifDescriptor     = 0x2c
	gifTrailer        = 0x3b
)

// gifHead is the size of what stands before a GIF's blocks.
func gifHead(data []byte) int { return min(gifHeaderSize+gifColours(data, 10), len(data)) }

// gifFrames goes from block to block and returns the frames, each from its descriptor on,
// and whether the picture's end was found. The last one may be cut off if it wasn't.
func gifFrames(data []byte) (frames [][]byte, end bool) {
	at := gifHead(data)
	for at < len(data) {
		start, isFrame := at, false
		switch data[at] {
		case gifExtension:
			at += 2
		case gifDescriptor:
			isFrame = true
			at += gifDescriptorSize + gifColours(data, at+9) + 1
		default:
			return frames, data[at] == gifTrailer
		}
		for at < len(data) && data[at] != 0 { // blocks of data, each with its size in front
			at += 1 + int(data[at])
		}
		at++
		if isFrame {
			frames = append(frames, data[start:min(at, len(data))])
		}
	}
	return frames, false
}

// gifColours returns the size of the table of colours that the flags at a place announce.
func gifColours(data []byte, flags int) int {
	if flags >= len(data) || data[flags]&0x80 == 0 {
		return 0
	}
	return 3 << (data[flags]&7 + 1)
}

// webpEnds reports whether a WebP has as many bytes as its head says, in whole chunks. Some
// writers leave out the byte that fills up the last one.
func webpEnds(data []byte) bool {
	end := int(binary.LittleEndian.Uint32(data[4:])) + 8
	if end > len(data)+1 {
		return false
	}
	at := 12
	for _, chunk := range webpChunks(data[at:]) {
		at += 8 + len(chunk) + len(chunk)&1
	}
	return at >= end
}

// frameArea is where a frame of a WebP stands on its canvas.
func frameArea(chunk []byte, canvas image.Rectangle) (image.Rectangle, error) {
	if len(chunk) < frameHead {
		return image.Rectangle{}, errNoFrame
	}
	x, y := 2*uint24(chunk), 2*uint24(chunk[3:])
	area := image.Rect(x, y, x+1+uint24(chunk[6:]), y+1+uint24(chunk[9:]))
	if !area.In(canvas) {
		return image.Rectangle{}, errors.New("a frame that is larger than its picture")
	}
	return area, nil
}
