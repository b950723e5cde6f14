package cost

import (
	"crypto/sha256"
	"encoding/base64"

	"sessiond/llm"
)

// Sketch is what is kept of a request to tell later in what another one differs, without
// its messages. The zero value is that of no request. It can be stored as JSON.
type Sketch struct {
	Model    string `json:"model,omitempty"`
	CacheKey string `json:"cache_key,omitempty"`
	Tools    string `json:"tools,omitempty"`    // a digest
	System   string `json:"system,omitempty"`   // a digest
	Settings string `json:"settings,omitempty"` // thinking and choice of tools
	Images   int    `json:"images,omitempty"`
}

// SketchOf returns the sketch of a request. It reads all of the tools and the system
// prompt, and counts the images.
func SketchOf(req *llm.Request) Sketch {
	tools := make([]string, 0, 3*len(req.Tools))
	for _, t := range req.Tools {
		tools = append(tools, t.Name, t.Description, string(t.InputSchema))
	}
	return Sketch{
		Model: req.Model, CacheKey: req.CacheKey, Tools: digestOf(tools...), System: digestOf(req.System),
		Settings: string(req.Thinking) + "/" + string(req.ToolChoice), Images: images(req.Messages),
	}
}

// Differs names the first part of next that is not as it was, as [FirstDifference] does,
// but for the messages. There is none if there was no request before.
func (s Sketch) Differs(next Sketch) (Part, bool) {
	for _, part := range []struct {
		kind PartKind
		same bool
	}{
		{PartModel, s.Model == next.Model},
		{PartCacheKey, s.CacheKey == next.CacheKey},
		{PartTools, s.Tools == next.Tools},
		{PartSystem, s.System == next.System},
		{PartSettings, s.Settings == next.Settings},
		{PartImages, s.Images == next.Images},
	} {
		if s != (Sketch{}) && !part.same {
			return Part{Kind: part.kind}, true
		}
	}
	return Part{}, false
}

// digestOf tells texts apart from all others, also where one ends and the next begins. It
// is short: it only has to tell the requests of one conversation apart.
func digestOf(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		digest := sha256.Sum256([]byte(text))
		h.Write(digest[:])
	}
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)[:12])
}
