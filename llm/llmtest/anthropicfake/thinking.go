package anthropicfake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// thinkingConfig is the member thinking of a request.
type thinkingConfig struct {
	kind     string // "" if the request does not say
	budget   int
	mismatch string // block_binding.prefix_mismatch_behavior
	raw      string
}

// on reports whether the model may think.
func (c thinkingConfig) on(m Model) bool {
	switch c.kind {
	case thinkingAdaptive, thinkingEnabled, thinkingBetweenTools:
		return true
	case thinkingDisabled:
		return false
	}
	return m.ThinksAlone
}

// key is the setting as the prompt cache knows it: to say the default is to say nothing.
func (c thinkingConfig) key(m Model) string {
	byDefault := thinkingDisabled
	if m.ThinksAlone {
		byDefault = thinkingAdaptive
	}
	return unless(c.raw, `{"type":"`+byDefault+`"}`)
}

const minBudget = 1024

func (r *request) readThinking(f fields) *apiError {
	if !f.given("thinking") {
		return nil
	}
	c := &r.thinking
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(f.has["thinking"], &head) != nil {
		return invalid("thinking: Input should be a valid dictionary")
	}
	allowed := []string{"type"}
	switch head.Type {
	case thinkingAdaptive, thinkingEnabled:
		allowed = append(allowed, "display")
		if head.Type == thinkingEnabled {
			allowed = append(allowed, "budget_tokens")
		}
		if slices.Contains(r.betas, bindingBeta) {
			allowed = append(allowed, "block_binding")
		}
	case thinkingDisabled, thinkingBetweenTools:
	default:
		return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'", head.Type)
	}
	tf, err := object(at("thinking", head.Type), f.has["thinking"], allowed...)
	if err != nil {
		return err
	}
	c.kind, c.raw = head.Type, canonical(f.has["thinking"])
	if c.budget, err = tf.number("budget_tokens"); err != nil {
		return err
	}
	if tf.given("block_binding") {
		bf, err := object(at(tf.path, "block_binding"), tf.has["block_binding"], "prefix_mismatch_behavior")
		if err != nil {
			return err
		}
		if c.mismatch, err = bf.text("prefix_mismatch_behavior"); err != nil {
			return err
		}
	}
	return r.checkThinkingConfig(tf)
}

func (r *request) checkThinkingConfig(f fields) *apiError {
	c, m := r.thinking, r.model
	if !slices.Contains(m.Thinking, c.kind) {
		if c.kind == thinkingAdaptive {
			return invalid("adaptive thinking is not supported on this model")
		}
		return invalid(`"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, c.kind)
	}
	off := c.kind == thinkingDisabled || c.kind == thinkingBetweenTools
	if off && m.OffMaxHigh && (r.effort == "xhigh" || r.effort == "max") {
		return invalid(`"thinking.type.%s" is not supported with "output_config.effort" %q for this model.`, c.kind, r.effort)
	}
	if c.kind != thinkingEnabled {
		return nil
	}
	switch {
	case !f.given("budget_tokens"):
		return invalid("thinking.enabled.budget_tokens: Field required")
	case c.budget < minBudget:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to %d", minBudget)
	case r.maxTokens == 0:
		return invalid("max_tokens: 0 is not supported with `thinking.type` %q", c.kind)
	case c.budget >= r.maxTokens && r.maxTokens > 1:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at platform.claude.com/docs")
	}
	return nil
}

// seal is what a signature says about the block it stands in.
type seal struct {
	Model   string `json:"m"`
	Prefix  string `json:"p"` // everything before the block
	System  string `json:"s"`
	Tools   string `json:"t"`
	Content string `json:"c"` // the block's own text
	Message string `json:"g"` // the answer it is part of
	Index   int    `json:"i"` // among the thinking blocks of that answer
	Count   int    `json:"n"` // of them
}

const sealKey = "anthropicfake"

func (s seal) sign() string {
	payload := marshal(s)
	mac := hmac.New(sha256.New, []byte(sealKey))
	mac.Write(payload)
	return base64.StdEncoding.EncodeToString(append(payload, hex.EncodeToString(mac.Sum(nil))...))
}

// openSeal reads a signature that was made here.
func openSeal(signature string) (seal, bool) {
	const macHex = 2 * sha256.Size
	var s seal
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) < macHex || json.Unmarshal(raw[:len(raw)-macHex], &s) != nil {
		return s, false
	}
	return s, hmac.Equal([]byte(s.sign()), []byte(signature))
}

// checkThinkingBlocks walks through the conversation with the running digest of the
// prefix, checks every thinking block against it, and lays out the positions of the
// prompt cache on the way.
func (s *Server) checkThinkingBlocks(r *request) *apiError {
	w := newWalk(r)
	latest, asked := -1, -1
	for i, t := range r.turns {
		if t.role == roleAssistant {
			latest = i
		} else if slices.ContainsFunc(t.blocks, func(b *block) bool { return b.kind != "tool_result" }) {
			asked = i
		}
	}
	for i, t := range r.turns {
		if err := s.checkWhole(r, t, i == latest); err != nil {
			return err
		}
		w.turn(t.role)
		for _, b := range t.blocks {
			if b.thinks() {
				if err := s.checkSealed(r, b, w.bound, i == latest); err != nil {
					return err
				}
			}
			w.block(b, b.thinks() && r.model.ForgetsThinking && i < asked)
		}
	}
	r.end = w.bound
	r.tokens = w.tokens
	r.positions = w.positions
	return r.checkStartsThinking(latest)
}

// checkWhole: the thinking blocks of one answer come back all or not at all.
func (s *Server) checkWhole(r *request, t turn, latest bool) *apiError {
	bound := r.model.BoundPrefix && !s.opts.LaxThinking
	next := make(map[string]int) // by answer: the index of the block that has to come
	last := make(map[string]seal)
	for _, b := range t.blocks {
		if !b.thinks() {
			continue
		}
		sealed, ok := openSeal(b.signature)
		if !ok {
			return invalid("%s: Invalid `signature` in `thinking` block", b.path)
		}
		if sealed.Model != r.model.ID {
			continue // not readable for this model, which ignores it
		}
		if sealed.Index != next[sealed.Message] {
			return brokenThinking(b.path, latest, bound)
		}
		next[sealed.Message]++
		last[sealed.Message] = sealed
	}
	for message, sealed := range last {
		if next[message] != sealed.Count {
			return brokenThinking(t.blocks[0].path, latest, bound)
		}
	}
	return nil
}

func brokenThinking(path string, latest, bound bool) *apiError {
	switch {
	case latest:
		return invalid("%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", path)
	case bound:
		return invalid("%s", boundMessage(path, ""))
	}
	return nil
}

func (s *Server) checkSealed(r *request, b *block, prefix digest, latest bool) *apiError {
	sealed, _ := openSeal(b.signature) // checkWhole opened it before
	if sealed.Model != r.model.ID {
		return nil
	}
	if b.kind == "thinking" && sealed.Content != contentSum(b.text) {
		if latest {
			return brokenThinking(b.path, true, false)
		}
		return invalid("%s: Invalid `signature` in `thinking` block", b.path)
	}
	if !r.model.BoundPrefix || sealed.Prefix == prefix.String() {
		return nil
	}
	switch r.thinking.mismatch {
	case "drop_block":
		r.dropped = append(r.dropped, b.path)
		return nil
	case "":
		if s.opts.LaxThinking {
			return nil
		}
	}
	var changed []string
	if sealed.System != r.systemSum.String() {
		changed = append(changed, "The `system` prompt differs from when the block was created.")
	}
	if sealed.Tools != r.toolsSum.String() {
		changed = append(changed, "The `tools` differ from when the block was created.")
	}
	return invalid("%s", boundMessage(b.path, strings.Join(changed, " ")))
}

func boundMessage(path, changed string) string {
	text := path + ": Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `" + bindingBeta + "` value in the `anthropic-beta` header."
	if changed != "" {
		text += " " + changed
	}
	return text
}

// checkStartsThinking: manual thinking wants the last answer of a tool loop to start
// with its thinking.
func (r *request) checkStartsThinking(latest int) *apiError {
	if r.thinking.kind != thinkingEnabled || latest < 0 {
		return nil
	}
	t := r.turns[latest]
	if len(t.blocks) == 0 || t.blocks[0].thinks() || !slices.ContainsFunc(t.blocks, func(b *block) bool { return b.kind == "tool_use" }) {
		return nil
	}
	//nolint:misspell // the API spells it so
	return invalid("%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
		t.blocks[0].path, t.blocks[0].kind)
}

func contentSum(text string) string { return newDigester().add(text).sum().String() }
