package configs

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func rootOf(c *Config) reflect.Value { return reflect.ValueOf(c).Elem() }

// decode sets v, the settings at path, from node. It goes on after a problem, so
// that one run finds them all.
func (l *loader) decode(node *yaml.Node, v reflect.Value, path string) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	decode := l.decodeValue
	if short, ok := shortForm(v); ok && node.Kind == yaml.ScalarNode {
		v = short
	} else if kind := v.Kind(); kind == reflect.Struct {
		decode = l.decodeGroup
	} else if kind == reflect.Slice {
		decode = l.decodeList
	} else if kind == reflect.Map {
		decode = l.decodeMap
	}
	decode(node, v, path)
}

func (l *loader) decodeGroup(node *yaml.Node, v reflect.Value, path string) {
	if isNull(node) {
		return // a group with all its keys commented out
	}
	if node.Kind != yaml.MappingNode {
		l.refuseAt(l.at(node), path, "must be a group of settings")
		return
	}
	seen := map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name, field, ok := fieldByKey(v, key.Value)
		below := join(path, name)
		switch first := seen[name]; {
		case key.Kind != yaml.ScalarNode || !ok:
			l.refuseAt(l.at(key), below, "unknown setting")
		case first > 0:
			l.refuseAt(l.at(key), below, "given twice, first in line %d", first)
		default:
			seen[name] = key.Line
			l.sources[below] = l.at(key)
			l.decode(value, field, below)
		}
	}
}

func (l *loader) decodeList(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.SequenceNode {
		l.refuseAt(l.at(node), path, "must be a list; an empty one is []")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		below := fmt.Sprintf("%s[%d]", path, i)
		l.sources[below] = l.at(item)
		l.decode(item, list.Index(i), below)
	}
	v.Set(list)
}

// decodeMap sets a group whose keys are names of the operator's, such as models.
func (l *loader) decodeMap(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		l.refuseAt(l.at(node), path, "must be a group of settings; an empty one is {}")
		return
	}
	group := reflect.MakeMap(v.Type())
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		below := fmt.Sprintf("%s[%s]", path, key.Value)
		name := reflect.ValueOf(key.Value)
		if key.Kind != yaml.ScalarNode || key.Value == "" || group.MapIndex(name).IsValid() {
			l.refuseAt(l.at(key), below, "must be a name that is given once")
			continue
		}
		l.sources[below] = l.at(key)
		item := reflect.New(v.Type().Elem()).Elem()
		l.decode(value, item, below)
		group.SetMapIndex(name, item)
	}
	v.Set(group)
}

func (l *loader) decodeValue(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.ScalarNode {
		l.refuseAt(l.at(node), path, "must be a single value")
		return
	}
	if isNull(node) {
		l.refuseAt(l.at(node), path, `has no value; write "" for an empty text`)
		return
	}
	text, err := expand(node.Value, l.environ)
	if err == nil {
		err = setValue(v, text)
	}
	if err != nil {
		l.refuseAt(l.at(node), path, "%v", err)
	}
}

func (l *loader) at(node *yaml.Node) string { return fmt.Sprintf("%s:%d", l.file, node.Line) }

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// setValue sets the single value v from its text. Its errors leave the text out
// unless it can be no secret.
func setValue(v reflect.Value, text string) error {
	if enum, ok := reflect.TypeAssert[interface{ choices() []string }](v); ok {
		if !slices.Contains(enum.choices(), text) {
			return fmt.Errorf("this version does not know %q; it knows %s", text, strings.Join(enum.choices(), ", "))
		}
		v.SetString(text)
		return nil
	}
	switch v.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("must be a duration such as 90s, 30m or 1h30m")
		}
		v.SetInt(int64(d))
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("must be a whole number")
		}
		v.SetInt(int64(n))
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return errors.New("must be a number")
		}
		v.SetFloat(f)
	case bool:
		if text != "true" && text != "false" {
			return errors.New("must be true or false")
		}
		v.SetBool(text == "true")
	default:
		v.SetString(text)
	}
	return nil
}

// leaf is one setting that has a value of its own: everything but a group.
type leaf struct {
	path  string
	field reflect.StructField
	value reflect.Value
}

// leavesOf returns the settings in group, which lies at path, in the order of
// their declaration.
func leavesOf(group reflect.Value, path string) []leaf {
	var leaves []leaf
	for i := range group.NumField() {
		field, value := group.Type().Field(i), group.Field(i)
		below := join(path, field.Tag.Get("yaml"))
		if value.Kind() == reflect.Struct {
			leaves = append(leaves, leavesOf(value, below)...)
			continue
		}
		leaves = append(leaves, leaf{path: below, field: field, value: value})
	}
	return leaves
}

// fieldByKey returns the field that a key of a file stands for, and its name, which is
// the key itself if there is no such field.
func fieldByKey(group reflect.Value, key string) (name string, field reflect.Value, ok bool) {
	for i := range group.NumField() {
		name := group.Type().Field(i).Tag.Get("yaml")
		if key == name || key == camelCase(name) {
			return name, group.Field(i), true
		}
	}
	return key, reflect.Value{}, false
}

// camelCase writes a_name as aName.
func camelCase(name string) string {
	first, rest, _ := strings.Cut(name, "_")
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			first += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return first
}

// shortForm returns the field that a group may be given as alone.
func shortForm(group reflect.Value) (reflect.Value, bool) {
	if group.Type() != reflect.TypeFor[Model]() {
		return reflect.Value{}, false
	}
	return group.FieldByName("Name"), true
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
