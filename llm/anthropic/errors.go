package anthropic

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"sessiond/llm"
)

const (
	statusOverloaded = 529
	maxMessageBytes  = 2 << 10
)

// refusal is what the API said no with.
type refusal struct {
	status  int    // 0 for an error inside a stream
	kind    string // error.type
	code    string // error.details.error_code
	message string
}

// verdict is one row of the table of errors.
type verdict struct {
	class llm.Class
	when  func(refusal) bool
}

// verdicts is read from the top: the first row that fits decides. Money comes before
// rate limits, whose status it shares; rate limits and overload come before overflow,
// so that neither is ever taken for one.
func verdicts() []verdict {
	return []verdict{
		{llm.ClassBilling, refusal.isBilling},
		{llm.ClassRate, func(r refusal) bool { return r.status == http.StatusTooManyRequests || r.kind == "rate_limit_error" }},
		{llm.ClassOverload, func(r refusal) bool { return r.status == statusOverloaded || r.kind == "overloaded_error" }},
		{llm.ClassAuth, func(r refusal) bool {
			return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden ||
				r.kind == "authentication_error" || r.kind == "permission_error"
		}},
		{llm.ClassOverflow, func(r refusal) bool {
			_, over := llm.DetectOverflow(r.status, r.message)
			return over
		}},
		{llm.ClassSize, func(r refusal) bool { return llm.DetectOversize(r.status, r.kind+" "+r.code+" "+r.message) }},
		{llm.ClassMedia, refusal.isMedia},
		{llm.ClassRefused, func(r refusal) bool { return strings.Contains(r.message, "content filtering policy") }},
		{llm.ClassNetwork, func(r refusal) bool { return r.status == http.StatusRequestTimeout }},
		{llm.ClassOverload, func(r refusal) bool {
			return r.status >= http.StatusInternalServerError || r.kind == "api_error" || r.kind == "timeout_error"
		}},
		{llm.ClassInvalid, func(refusal) bool { return true }},
	}
}

func (r refusal) isBilling() bool {
	spent := []string{
		"enforced_spend_limit_reached", "contract_spend_limit_reached", "linked_organization_spend_limit_reached",
		"linked_organization_billing_unavailable", "user_profile_billing_not_authorized", "user_profile_not_billable",
	}
	return r.status == http.StatusPaymentRequired || r.kind == "billing_error" || slices.Contains(spent, r.code) ||
		strings.HasPrefix(r.message, "You have reached your specified API usage limits") ||
		strings.Contains(r.message, "credit balance is too low")
}

var mediaText = regexp.MustCompile(`(?i)\.(?:image|document)\.|could not process (?:image|pdf)|image exceeds|image dimensions|too many images|unsupported image`)

func (r refusal) isMedia() bool {
	invalid := r.status == http.StatusBadRequest || r.kind == "invalid_request_error"
	return invalid && (r.code == "image_dimensions_too_large" || mediaText.MatchString(r.message))
}

// classify turns an error of the SDK or the network into an [llm.Error]. The key is
// taken out of what the provider said, should it stand there.
func classify(err error, key string) error {
	var api *sdk.Error
	if !errors.As(err, &api) {
		text := llm.NetworkMessage(err)
		if errors.Is(err, errCutOff) || errors.Is(err, errMalformed) {
			text = err.Error()
		}
		return &llm.Error{Class: llm.ClassNetwork, Message: text, Err: err}
	}
	r := refusal{status: api.StatusCode, kind: string(api.Type()), code: string(api.ErrorCode()), message: api.Message}
	if r.status == http.StatusOK {
		r.status = 0
	}
	e := &llm.Error{Status: r.status, Message: shown(r, key)}
	for _, v := range verdicts() {
		if v.when(r) {
			e.Class = v.class
			break
		}
	}
	if e.Class == llm.ClassOverflow {
		e.LimitTokens, _ = llm.DetectOverflow(r.status, r.message)
	}
	if e.Class.Retryable() && api.Response != nil && r.status != 0 {
		e.RetryAfter = llm.RetryAfter(api.Response.Header)
	}
	return e
}

// shown is the provider's message as the owner of a session may see it.
func shown(r refusal, key string) string {
	text := r.message
	if text == "" {
		text = r.kind
	}
	if text == "" {
		text = http.StatusText(r.status)
	}
	if len(text) > maxMessageBytes {
		text = text[:maxMessageBytes]
	}
	text = strings.ToValidUTF8(text, "") // a cut rune is left out
	return strings.ReplaceAll(text, key, "[key]")
}
