package anthropicfake

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
)

// digest names a prefix of a request, or a part of one, by its meaning: cache markers
// and spellings that mean the same do not change it.
type digest [sha256.Size]byte

func (d digest) String() string { return hex.EncodeToString(d[:8]) }

// digester hashes a list of parts so that no two lists collide by running together.
type digester struct{ h hash.Hash }

func newDigester() digester { return digester{sha256.New()} }

func (d digester) add(parts ...string) digester {
	for _, p := range parts {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		d.h.Write(size[:])
		d.h.Write([]byte(p))
	}
	return d
}

func (d digester) sum() digest { return digest(d.h.Sum(nil)) }

// next is the digest of a prefix with one more part.
func (d digest) next(parts ...string) digest {
	return newDigester().add(string(d[:])).add(parts...).sum()
}

// canonical writes a JSON value without white space and with one spelling of strings.
// Order of members and spelling of numbers stay: they are part of what a model saw.
func canonical(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out bytes.Buffer
	writeCanonical(d, &out)
	return out.String()
}

func writeCanonical(d *json.Decoder, out *bytes.Buffer) {
	t, err := d.Token()
	if err != nil {
		return
	}
	open, isDelim := t.(json.Delim)
	if !isDelim {
		out.Write(marshal(t))
		return
	}
	out.WriteByte(byte(open))
	for i := 0; d.More(); i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return
			}
			out.Write(marshal(key))
			out.WriteByte(':')
		}
		writeCanonical(d, out)
	}
	if end, err := d.Token(); err == nil {
		if delim, ok := end.(json.Delim); ok {
			out.WriteByte(byte(delim))
		}
	}
}

// wireSum names the bytes of a block or a tool: its members in their order and spelling,
// without cache markers and without the white space between members. It is stricter than
// a digest of the meaning, as the prompt cache is (rules 5.12 and 12.4).
func wireSum(raw json.RawMessage) digest {
	out := newDigester()
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return out.sum()
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		key, _ := name.(string)
		switch key {
		case "cache_control":
			continue
		case "content":
			value = wireContent(value)
		}
		out.add(key, string(value))
	}
	return out.sum()
}

// wireContent stands for the content of a block: a string is one text block.
func wireContent(raw json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	switch kindOf(raw) {
	case '"':
		items = []json.RawMessage{textBlock(raw)}
	case '[':
		if json.Unmarshal(raw, &items) != nil {
			return raw
		}
	default:
		return raw
	}
	d := newDigester()
	for _, item := range items {
		sum := wireSum(item)
		d.add(string(sum[:]))
	}
	sum := d.sum()
	return sum[:]
}

// textBlock is the block that a string in place of a list of blocks means.
func textBlock(text json.RawMessage) json.RawMessage {
	return slices.Concat(json.RawMessage(`{"type":"text","text":`), text, json.RawMessage(`}`))
}
