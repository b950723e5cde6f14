package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"sessiond/llm"
	"sessiond/message"
)

// appendRequest writes the body of a request. It is written by hand because the bytes
// matter: encoding/json would compact schemas and escape what need not be escaped.
// What never changes between the calls of a session stands first.
func (d *Dialect) appendRequest(dst []byte, req *llm.Request, thinking string) []byte {
	dst = append(dst, `{"model":`...)
	dst = message.AppendString(dst, req.Model)
	dst = append(dst, `,"stream":true,"stream_options":{"include_usage":true}`...)
	if req.MaxOutputTokens > 0 {
		dst = append(dst, `,"`+d.outputCap+`":`...)
		dst = strconv.AppendInt(dst, int64(req.MaxOutputTokens), 10)
	}
	if d.cacheKey && req.CacheKey != "" {
		dst = append(dst, `,"prompt_cache_key":`...)
		dst = message.AppendString(dst, cacheKey(req.CacheKey))
	}
	if thinking != "" {
		dst = append(dst, ',')
		dst = append(dst, thinking...)
	}
	if len(req.Tools) > 0 {
		dst = append(dst, `,"tools":[`...)
		for i := range req.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendTool(dst, &req.Tools[i])
		}
		dst = append(dst, ']')
		if req.ToolChoice == llm.ToolChoiceNone {
			dst = append(dst, `,"tool_choice":"none"`...)
		}
	}
	dst = append(dst, `,"messages":[`...)
	dst = d.appendMessages(dst, req.System, req.Messages)
	return append(dst, `]}`...)
}

// maxCacheKeyBytes is the longest key that OpenAI takes; it refuses requests with longer
// ones.
const maxCacheKeyBytes = 64

// cacheKey returns a key that stands for the given one and is short enough.
func cacheKey(key string) string {
	if len(key) <= maxCacheKeyBytes {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func appendTool(dst []byte, t *llm.Tool) []byte {
	dst = append(dst, `{"type":"function","function":{"name":`...)
	dst = message.AppendString(dst, t.Name)
	if t.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = message.AppendString(dst, t.Description)
	}
	dst = append(dst, `,"parameters":`...)
	dst = appendSchema(dst, t.InputSchema)
	return append(dst, `}}`...)
}

// appendSchema writes a tool's schema as it came. OpenAI refuses an object schema
// without properties, which is how clients write "no parameters".
func appendSchema(dst, schema []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil || len(members) == 0 {
		return append(dst, `{"type":"object","properties":{}}`...)
	}
	if _, ok := members["properties"]; ok {
		return append(dst, schema...)
	}
	for i := range schema { // the first byte that counts is the brace
		if schema[i] == '{' {
			dst = append(dst, `{"properties":{},`...)
			return append(dst, schema[i+1:]...)
		}
	}
	return dst
}
