package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SettingError is one thing wrong with the settings.
type SettingError struct {
	// Source is where the value was given: file:line, or the name of an
	// environment variable. It is empty when the value is the default.
	Source string
	// Path is the dotted path of the setting; empty when none was recognised.
	Path string
	// Text says what is wrong. It holds no secret.
	Text string
}

// Error implements error.
func (e *SettingError) Error() string {
	parts := make([]string, 0, 3)
	for _, part := range []string{e.Source, e.Path, e.Text} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Check judges settings by what only the packages that use them know. It calls refuse
// with the path of each bad value and what is wrong with it, which must tell no secret.
type Check func(c Config, refuse func(path, why string))

// Load reads the settings from the YAML file at path, or from no file if path is
// empty, and from environ, which has the form of [os.Environ]. If anything is
// wrong, also by one of the checks, it returns the zero Config and every
// [*SettingError] there is, joined.
func Load(path string, environ []string, checks ...Check) (Config, error) {
	if path == "" {
		return load("", nil, environ, checks...)
	}
	data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return Config{}, fmt.Errorf("read settings: %w", err)
	}
	return load(filepath.Base(path), data, environ, checks...)
}

func load(file string, data []byte, environ []string, checks ...Check) (Config, error) {
	l := &loader{
		cfg:     Default(),
		file:    file,
		environ: parseEnviron(environ),
		sources: map[string]string{},
	}
	l.readFile(data)
	l.readEnvironment()
	l.validate()
	for _, check := range checks {
		check(l.cfg, func(path, why string) { l.refuse(path, "%s", why) })
	}
	if len(l.problems) > 0 {
		return Config{}, errors.Join(l.problems...)
	}
	return l.cfg, nil
}

// loader collects one Config and everything that is wrong with it.
type loader struct {
	cfg      Config
	file     string
	environ  map[string]string
	sources  map[string]string // path → SettingError.Source of the value in cfg
	problems []error
}

func (l *loader) readFile(data []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return // nothing in it but comments
	case err != nil:
		l.problems = append(l.problems, &SettingError{Source: l.file, Text: err.Error()})
		return
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		l.problems = append(l.problems, &SettingError{Source: l.file, Text: "more than one YAML document"})
	}
	l.decode(document.Content[0], rootOf(&l.cfg), "")
}

// refuse records a problem with the value that path has in the end.
func (l *loader) refuse(path, format string, args ...any) {
	l.refuseAt(l.sourceOf(path), path, format, args...)
}

func (l *loader) refuseAt(source, path, format string, args ...any) {
	l.problems = append(l.problems, &SettingError{Source: source, Path: path, Text: fmt.Sprintf(format, args...)})
}

// sourceOf returns where the value at path, or the nearest thing around it, was given.
func (l *loader) sourceOf(path string) string {
	for path != "" {
		if source, ok := l.sources[path]; ok {
			return source
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return ""
}

// refused reports whether anything at or below path has a problem.
func (l *loader) refused(path string) bool {
	for _, problem := range l.problems {
		setting, ok := errors.AsType[*SettingError](problem)
		if ok && strings.HasPrefix(setting.Path+".", path+".") {
			return true
		}
	}
	return false
}
