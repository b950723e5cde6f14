package configs

import "testing"

func TestResolved(t *testing.T) {
	const anthropicKey, openAIKey = "ANTHROPIC_API_KEY=a-key", "OPENAI_API_KEY=o-key"
	tests := []struct {
		name     string
		set      LLM
		environ  []string
		provider Provider
		key      Secret
		url      string
		model    string
	}{
		{"nothing", LLM{Provider: ProviderAuto}, nil, ProviderDemo, "", "", ""},
		{"anthropic first", LLM{Provider: ProviderAuto}, []string{openAIKey, anthropicKey}, ProviderAnthropic, "a-key", "", defaultAnthropicModel},
		{"openai", LLM{Provider: ProviderAuto}, []string{openAIKey}, ProviderOpenAI, "o-key", defaultOpenAIBaseURL, defaultOpenAIModel},
		{"an empty key is none", LLM{Provider: ProviderAuto}, []string{"ANTHROPIC_API_KEY="}, ProviderDemo, "", "", ""},
		{"demo in spite of keys", LLM{Provider: ProviderDemo}, []string{anthropicKey}, ProviderDemo, "", "", ""},
		{"the setting's key wins", LLM{Provider: ProviderAnthropic, APIKey: "mine"}, []string{anthropicKey}, ProviderAnthropic, "mine", "", defaultAnthropicModel},
		{"the setting's model wins", LLM{Provider: ProviderAuto, Model: "m"}, []string{anthropicKey}, ProviderAnthropic, "a-key", "", "m"},
		{"the first of the models", LLM{Provider: ProviderAuto, Models: []Model{{Name: "x"}, {Name: "y"}}}, []string{anthropicKey}, ProviderAnthropic, "a-key", "", "x"},
		{
			"keys are not sent to other servers",
			LLM{Provider: ProviderAuto, BaseURL: "http://localhost:11434/v1", Model: "m"},
			[]string{anthropicKey, openAIKey},
			ProviderOpenAI, "", "http://localhost:11434/v1", "m",
		},
		{
			"nor by another anthropic",
			LLM{Provider: ProviderAnthropic, BaseURL: "http://localhost:1", Model: "m"},
			[]string{anthropicKey},
			ProviderAnthropic, "", "http://localhost:1", "m",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.set.Resolved(tt.environ)
			if got.Provider != tt.provider || got.APIKey != tt.key || got.BaseURL != tt.url || got.Model != tt.model {
				t.Errorf("got provider %s, key %q, URL %q, model %q", got.Provider, string(got.APIKey), got.BaseURL, got.Model)
			}
		})
	}
}

func TestPricing(t *testing.T) {
	cfg, err := load("s.yaml", []byte("llm: {pricing: {m: {input: 1.5, output: 2}}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cfg.LLM.Pricing["m"], (Price{Input: 1.5, Output: 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
