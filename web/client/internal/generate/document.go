package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is the part of an OpenRPC document that types are made of.
type document struct {
	Methods []struct {
		Name    string
		Summary string
		Params  []struct {
			Name        string
			Description string
			Required    bool
			Schema      schema
		}
		Result struct{ Schema schema }
		Writes bool `json:"x-writes"`
	}
	Notifications []struct {
		Name    string
		Summary string
		Params  schema
	} `json:"x-notifications"`
	Components struct{ Schemas map[string]schema }
}

// schema is a JSON Schema, as far as a type tells it.
type schema struct {
	Ref         string `json:"$ref"`
	Description string
	Type        string
	Const       string
	Enum        []string
	Items       *schema
	Properties  map[string]schema
	Required    []string
	OneOf       []schema
	Additional  *bool `json:"additionalProperties"`
}

func parseDocument(raw []byte) (*document, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("parse the description: %w", err)
	}
	return &doc, nil
}

// names returns a schema's members, those that must be there first.
func (s *schema) names() []string {
	names := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (s *schema) requires(member string) bool { return slices.Contains(s.Required, member) }

// refName is the name of the component that a reference leads to.
func (s *schema) refName() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }
