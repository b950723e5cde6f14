package prompt

import (
	"errors"
	"fmt"

	"sessiond/llm"
	"sessiond/message"
)

// The limits on images (rules 1.23 and 8.8), the narrowest of all providers.
const (
	maxImageBytes = 10 << 20 // of base64
	maxSide       = 8000     // pixels
	maxPatches    = 30_000   // of 32 by 32 pixels
	patchSide     = 32

	maxImages   = 100
	fewImages   = 20   // up to so many may be large
	mediumSide  = 2000 // pixels; above is large
	omittedStep = 10
)

// ImageNotShown takes the place of an image that is broken or that a provider would not
// take.
const ImageNotShown = "(an image that could not be shown)"

// readImage returns nil, or what takes the image's place: the image under its right
// type, or words.
func (b *builder) readImage(img message.Image, where string) message.Block {
	info, err := b.memo.inspect(img.Data)
	switch {
	case errors.Is(err, errNoSize):
		b.repaired("1.23", where)
		return message.Text{Text: ImageNotShown}
	case err != nil:
		b.repaired("1.23", where)
		return omitted(err.Error())
	case len(img.Data) > maxImageBytes:
		b.repaired("1.23", where)
		return omitted("over 10 MB")
	case max(info.width, info.height) > maxSide:
		b.repaired("1.23", where)
		return omitted(fmt.Sprintf("%d by %d pixels, over %d", info.width, info.height, maxSide))
	case patches(info.width)*patches(info.height) > maxPatches:
		b.repaired("8.8", where)
		return omitted(fmt.Sprintf("%d by %d pixels, too many", info.width, info.height))
	case info.mimeType != img.MimeType:
		b.repaired("1.23", where)
		img.MimeType = info.mimeType
		return img
	}
	return nil
}

func patches(pixels int) int { return (pixels + patchSide - 1) / patchSide }

func omitted(why string) message.Text { return message.Text{Text: "[image omitted: " + why + "]"} }

// tooOld takes the place of an image that had to go for newer ones.
func tooOld() message.Text { return omitted("older than the newest ones") }

// limitImages takes out the oldest images where there are too many (rule 1.23), or where
// they make the request too heavy (rule 1.25). What was thought after a changed message was
// thought after another one (rule 4.14).
func (b *builder) limitImages(req *llm.Request) {
	total, large := 0, false
	b.eachImage(func(img message.Image, _ place) message.Block {
		total++
		info, err := b.memo.inspect(img.Data)
		large = large || err != nil || max(info.width, info.height) > mediumSide
		return nil
	})
	if total == 0 {
		return
	}
	many := tooMany(total, large)
	b.omitOldest(many, max(b.tooHeavy(req), many))
}

// tooMany returns how many of the oldest images have to go for their number: those over 20
// if any is large, over 100 otherwise. They go ten at a time, so that the beginning of a
// conversation that gets an image with each turn changes rarely.
func tooMany(total int, large bool) int {
	limit := maxImages
	if large {
		limit = fewImages
	}
	if total <= limit {
		return 0
	}
	return (total - limit + omittedStep - 1) / omittedStep * omittedStep
}

// omitOldest takes out the oldest images, of which so many go for their number and the rest
// for their bytes.
func (b *builder) omitOldest(many, all int) {
	if all == 0 {
		return
	}
	at := 0
	changedAt := -1
	b.eachImage(func(_ message.Image, where place) message.Block {
		if at++; at > all {
			return nil
		}
		if changedAt < 0 {
			changedAt = where.message
		}
		rule := "1.23"
		if at > many {
			rule = "1.25"
		}
		b.repaired(rule, where.String())
		return tooOld()
	})
	for _, d := range b.drafts {
		if d.role == message.RoleAssistant && len(d.content) > 0 && d.content[0].at.message > changedAt && d.dropThinking() {
			b.repaired("4.14", messageAt(d.content[0].at.message))
		}
	}
}

// eachImage shows every image, those in results included, to f, in order. What f
// returns takes the image's place.
func (b *builder) eachImage(f func(message.Image, place) message.Block) {
	for _, d := range b.drafts {
		for k := range d.content {
			c := &d.content[k]
			switch given := c.Block.(type) {
			case message.Image:
				if other := f(given, c.at); other != nil {
					c.Block, d.changed = other, true
				}
			case message.ToolResult:
				content := given.Content
				for n := range content {
					img, ok := content[n].(message.Image)
					if !ok {
						continue
					}
					if other := f(img, c.at); other != nil {
						given.Content = append([]message.Block(nil), given.Content...)
						given.Content[n] = other
						c.Block, d.changed = given, true
					}
				}
			case message.Text, message.Thinking, message.ToolUse:
			}
		}
	}
}
