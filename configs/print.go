package configs

import (
	_ "embed"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

//go:embed sessiond.yaml
var sample string

// Sample returns a settings file that explains every setting and gives each its
// default.
func Sample() string { return sample }

// WriteYAML writes the settings to w as YAML, with the secrets hidden.
func (c Config) WriteYAML(w io.Writer) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(c); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}

// MarshalYAML writes a model of which only the name is known as that name.
func (m Model) MarshalYAML() (any, error) {
	if m == (Model{Name: m.Name}) {
		return m.Name, nil
	}
	type group Model // without this method
	return group(m), nil
}
