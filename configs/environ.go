package configs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const (
	envPrefix     = "SESSIOND_"
	envTestPrefix = "SESSIOND_TEST_" // belongs to the tests, not to the server
	envToken      = "SESSIOND_TOKEN"

	// minTokenBytes keeps out tokens that can be guessed.
	minTokenBytes = 16
)

// parseEnviron turns NAME=value lines into a map; of equal names the last one counts.
func parseEnviron(environ []string) map[string]string {
	vars := make(map[string]string, len(environ))
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// envName returns the variable that overrides the setting at path.
func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}

func (l *loader) readEnvironment() {
	settings := map[string]leaf{}
	for _, leaf := range leavesOf(rootOf(&l.cfg), "") {
		settings[envName(leaf.path)] = leaf
	}
	for _, name := range slices.Sorted(maps.Keys(l.environ)) {
		if !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, envTestPrefix) || name == envToken {
			continue
		}
		setting, ok := settings[name]
		if !ok {
			l.refuseAt(name, "", "unknown setting")
			continue
		}
		if err := setText(setting.value, l.environ[name]); err != nil {
			l.refuseAt(name, setting.path, "%v", err)
			continue
		}
		l.override(setting.path, name)
	}
	if token, ok := l.environ[envToken]; ok {
		l.addToken(token)
	}
}

// override notes that the value at path now comes from the variable name, so
// that a file's line is not blamed for it.
func (l *loader) override(path, name string) {
	maps.DeleteFunc(l.sources, func(below, _ string) bool { return strings.HasPrefix(below, path+"[") })
	l.sources[path] = name
}

// addToken lets the holder of token act as [OwnerDefault], besides the tokens
// that are configured.
func (l *loader) addToken(token string) {
	const path = "auth.tokens"
	if len(token) < minTokenBytes {
		l.refuseAt(envToken, path, "must have at least %d characters; openssl rand -hex 32 makes a good one", minTokenBytes)
		return
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		l.refuseAt(envToken, path, "must be printable ASCII without spaces, or no client can send it")
		return
	}
	l.sources[fmt.Sprintf("%s[%d]", path, len(l.cfg.Auth.Tokens))] = envToken
	l.cfg.Auth.Tokens = append(l.cfg.Auth.Tokens, Token{Owner: OwnerDefault, SHA256: DigestOf(token)})
}

// setText sets v, a single value or a list, from the text of a variable: the
// items of a list stand between commas, a token is owner:sha256, a model its name.
func setText(v reflect.Value, text string) error {
	if kind := v.Kind(); kind == reflect.Map {
		return errors.New("can be given in the file only")
	} else if kind != reflect.Slice {
		return setValue(v, text)
	}
	list := reflect.MakeSlice(v.Type(), 0, 0)
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" && text != "" {
			return errors.New("has an empty item")
		}
		if item == "" {
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if err := setItem(element, item); err != nil {
			return err
		}
		list = reflect.Append(list, element)
	}
	v.Set(list)
	return nil
}

func setItem(v reflect.Value, text string) error {
	if short, ok := shortForm(v); ok {
		return setValue(short, text)
	}
	if v.Type() != reflect.TypeFor[Token]() {
		return setValue(v, text)
	}
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return errors.New("each token must be written as owner:sha256")
	}
	v.Set(reflect.ValueOf(Token{Owner: text[:colon], SHA256: Digest(text[colon+1:])}))
	return nil
}

// reference matches an escaped opening, a reference, or an opening that is neither.
var reference = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// expand replaces each ${NAME} in text by that variable's value; $${ stands for
// a plain ${.
func expand(text string, environ map[string]string) (string, error) {
	var errs []error
	expanded := reference.ReplaceAllStringFunc(text, func(match string) string {
		if match == "$${" {
			return "${"
		}
		name := reference.FindStringSubmatch(match)[1]
		value, ok := environ[name]
		switch {
		case name == "":
			errs = append(errs, errors.New("has a ${ that names no variable; write $${ for a plain one"))
		case !ok:
			errs = append(errs, fmt.Errorf("needs the environment variable %s, which is not set", name))
		}
		return value
	})
	return expanded, errors.Join(errs...)
}
