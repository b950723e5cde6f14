package tokens

// unknownSide stands for the sides of an image whose size isn't known: the largest that
// providers take from a request with many images.
const unknownSide = 2000

// AnthropicImageTokens returns what an image of w by h pixels costs with Claude models
// from 4.7 on: one token for each patch of 28 by 28 pixels, after it was scaled down to
// 2,576 pixels on its long side and 4,784 tokens. A size below 1 is one that isn't
// known.
func AnthropicImageTokens(w, h int) int { return anthropicTokens(w, h, 2576, 4784) }

// AnthropicOlderImageTokens is [AnthropicImageTokens] for Claude models before 4.7,
// which scale down to 1,568 pixels and 1,568 tokens.
func AnthropicOlderImageTokens(w, h int) int { return anthropicTokens(w, h, 1568, 1568) }

func anthropicTokens(w, h, maxSide, maxTokens int) int {
	const patch = 28
	w, h = knownSize(w, h)
	// A side in patches is side/patch, or after scaling side*maxSide/long/patch.
	scale, per := 1, patch
	if long := max(w, h); long > maxSide {
		scale, per = maxSide, patch*long
	}
	return min(divideUp(w*scale, per)*divideUp(h*scale, per), maxTokens)
}

// OpenAIImageTokens returns what an image of w by h pixels costs with OpenAI models
// that take images whole: 1.2 tokens for each patch of 32 by 32 pixels. Their older
// models scale images down first and charge less. A size below 1 is one that isn't
// known.
func OpenAIImageTokens(w, h int) int {
	const patch = 32
	w, h = knownSize(w, h)
	return divideUp(divideUp(w, patch)*divideUp(h, patch)*6, 5)
}

func knownSize(w, h int) (knownW, knownH int) {
	if w < 1 || h < 1 {
		return unknownSide, unknownSide
	}
	return w, h
}

func divideUp(a, b int) int { return (a + b - 1) / b }
