package v1

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// format is what a string or a raw value must look like.
type format string

const (
	formatNone     format = ""
	formatUUID     format = "uuid"
	formatToolName format = "toolname"
	formatBase64   format = "base64"
	formatObject   format = "object" // raw: any object
	formatSchema   format = "schema" // raw: a JSON Schema of type object
)

// rules are what a v tag says; see the package comment.
type rules struct {
	min, max *int64
	maxBytes *int64
	runes    bool // max counts characters
	format   format
	clean    bool
	nonempty bool
	unique   string
	ref      string
	constant string
	defaults *string
}

// maxKeyRunes bounds an idempotency key.
const maxKeyRunes = 64

// parseRules reads a v tag.
func parseRules(tag string, limits map[string]int64) (rules, error) {
	var r rules
	for rule := range strings.SplitSeq(tag, ",") {
		if rule == "" {
			continue
		}
		name, value, _ := strings.Cut(rule, "=")
		var err error
		switch name {
		case "min":
			r.min, err = bound(value, limits)
		case "max":
			r.max, err = bound(value, limits)
		case "maxbytes":
			r.maxBytes, err = bound(value, limits)
		case "key":
			r.nonempty, r.max, r.runes = true, new(int64(maxKeyRunes)), true
		case "uuid", "toolname", "base64", "object", "schema":
			r.format = format(name)
		case "clean":
			r.clean = true
		case "nonempty":
			r.nonempty = true
		case "unique":
			r.unique = value
		case "ref":
			r.ref = value
		case "const":
			r.constant = value
		case "default":
			r.defaults = &value
		default:
			err = fmt.Errorf("unknown rule %q", rule)
		}
		if err != nil {
			return rules{}, err
		}
	}
	return r, nil
}

// bound reads a number, or the name of a limit.
func bound(value string, limits map[string]int64) (*int64, error) {
	if n, ok := limits[value]; ok {
		return &n, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("bound %q is neither a number nor a limit", value)
	}
	return &n, nil
}

// limitsByName indexes the limits by their JSON names, for the rules to refer to.
func limitsByName(l Limits) (map[string]int64, error) {
	byName := make(map[string]int64)
	v := reflect.ValueOf(l)
	for i, field := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		n := v.Field(i).Int()
		if n < 0 || n == 0 && options != "omitempty" {
			return nil, fmt.Errorf("limit %s is %d, must be more than 0", name, n)
		}
		byName[name] = n
	}
	return byName, nil
}
