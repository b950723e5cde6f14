package openai

import (
	"regexp"
	"slices"

	"sessiond/llm"
)

// rule gives a class to failures with one of the statuses or with the words; those
// for requests that are too large leave both to package llm.
type rule struct {
	class    llm.Class
	statuses []int
	words    string // an expression over code, type and message
	within   []int  // if set, the words count with these statuses only
}

// rules are tried in order; the first that fits decides. Words come before statuses
// where servers use one status for several things: 429 for an empty purse, 403 for a
// refused prompt, 404 for a model without eyes.
func rules() []rule {
	refusing := []int{0, 400, 403, 404, 415, 422, 500}
	return []rule{
		{
			class: llm.ClassBilling, statuses: []int{402},
			words: `insufficient[_ ](?:quota|balance|credits|funds)|exceeded your current quota|billing[_ ](?:hard|not|details|account)|` +
				`out of credits|credit balance|spend(?:ing)? limit|usage limits`,
		},
		// A request above the rate of a whole minute never gets through by waiting.
		{class: llm.ClassInvalid, words: `request too large for .*\b(?:tpm|per min)`},
		{class: llm.ClassOverflow},
		{class: llm.ClassSize},
		{
			class: llm.ClassRefused, within: refusing,
			words: `content[_ ](?:filter|policy)|policy[_ ]violation|moderation|flagged|safety system|` +
				`responsibleai|cyber_policy|invalid_prompt|data_inspection_failed|usage polic`,
		},
		{
			class: llm.ClassMedia, statuses: []int{415}, within: refusing,
			words: `invalid_image|image_parse|unsupported_image|image_url|unsupported image|invalid image|` +
				`(?:not|n't) support (?:image|vision|multimodal)|support image input|image input|` +
				`patches after processing|image dimensions|image exceeds|image too large|` +
				`(?:process|decode|load|download) (?:the )?image|not a multimodal model`,
		},
		{class: llm.ClassOverload, words: `overloaded|at capacity|loading model|no available (?:server|provider|instance)|insufficient_system_resource`},
		{class: llm.ClassRate, statuses: []int{429}, words: `\brate[_ -]?limit|too many requests`},
		{
			class: llm.ClassAuth, statuses: []int{401, 403},
			words: `invalid_api_key|incorrect api key|api key not valid|authentication_error|invalid_authentication|permission_(?:denied|error)`,
		},
		{class: llm.ClassNetwork, statuses: []int{408, 499, 504, 520, 521, 522, 523, 524}},
		{
			class: llm.ClassOverload, statuses: []int{500, 502, 503, 529}, within: []int{0},
			words: `server_error|internal_error|unavailable`,
		},
		{class: llm.ClassInvalid, words: `invalid_request|bad ?request|not_?found|unsupported_|unknown_parameter`},
	}
}

// class judges the failure. What no rule knows: a status in the four hundreds is the
// request's fault, a higher one the server's, and an error inside a stream, where the
// request had been accepted already, is half an answer.
func (f *failure) class() llm.Class {
	words := f.words()
	for _, r := range rules() {
		if r.fits(f.status, words) {
			return r.class
		}
	}
	switch {
	case f.status >= 500:
		return llm.ClassOverload
	case f.status >= 400:
		return llm.ClassInvalid
	}
	return llm.ClassNetwork
}

func (r *rule) fits(status int, words string) bool {
	switch r.class { //nolint:exhaustive // the others are told by the rule
	case llm.ClassOverflow:
		_, ok := llm.DetectOverflow(status, words)
		return ok
	case llm.ClassSize:
		return llm.DetectOversize(status, words)
	}
	if slices.Contains(r.statuses, status) {
		return true
	}
	if r.words == "" || r.within != nil && !slices.Contains(r.within, status) {
		return false
	}
	return regexp.MustCompile(`(?is)` + r.words).MatchString(words)
}
