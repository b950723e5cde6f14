package compaction

import "math"

// Calibration is what a provider's counts say about the encoding's, kept per session and
// model on the session's row. The zero value knows nothing. Methods return what it
// becomes.
type Calibration struct {
	// Ratio is the provider's tokens for one raw token.
	Ratio float64 `json:"ratio,omitempty"`
	// Measured: the ratio comes from a call and not from a table.
	Measured bool `json:"measured,omitempty"`
	// Doubt is the last ratio that was too far off to be believed.
	Doubt float64 `json:"doubt,omitempty"`
	// LastRaw and LastMeasured are the request before.
	LastRaw      int `json:"last_raw,omitempty"`
	LastMeasured int `json:"last_measured,omitempty"`
}

// NewCalibration starts from a value of the model's family; 0 stands for 1.
func NewCalibration(start float64) Calibration {
	if !(start > 0) || math.IsInf(start, 1) {
		start = 1
	}
	return Calibration{Ratio: start}
}

// The bounds between which a measurement is believed.
const (
	firstLow, firstHigh = 0.5, 2.0
	bandLow, bandHigh   = 0.7, 1.5
	doubtAgree          = 0.1
	newestWeight        = 0.5
)

// Measure takes what the provider counted for a chat request of raw tokens: input,
// cache_read and cache_creation together. truncated tells that the provider must have
// cut the request silently, at measured tokens; nothing is learned from that. A
// measurement of 0 tells nothing.
func (k Calibration) Measure(raw, measured int) (next Calibration, truncated bool) {
	if raw <= 0 || measured <= 0 {
		return k, false
	}
	if k.truncated(raw, measured) {
		return k, true
	}
	k.LastRaw, k.LastMeasured = raw, measured
	if !(k.Ratio > 0) {
		k.Ratio = 1
	}
	got := float64(measured) / float64(raw)
	if !k.Measured {
		if got >= firstLow && got <= firstHigh {
			k.Ratio, k.Measured, k.Doubt = got, true, 0
		}
		return k, false
	}
	if expected := got / k.Ratio; expected < bandLow || expected > bandHigh {
		if k.Doubt == 0 || math.Abs(got/k.Doubt-1) > doubtAgree {
			k.Doubt = got
			return k, false
		}
	}
	k.Doubt = 0
	k.Ratio = (1-newestWeight)*k.Ratio + newestWeight*got
	return k, false
}

// truncated reports whether a request was cut on the way: the provider counted less than
// half of it, or it grew by more than a tenth and its count did not grow. No model's
// window is so small that it would cut a request below [MinWindowTokens].
func (k Calibration) truncated(raw, measured int) bool {
	if raw < MinWindowTokens {
		return false
	}
	if 2*measured < raw {
		return true
	}
	return k.LastRaw > 0 && raw*10 > k.LastRaw*11 && measured <= k.LastMeasured
}
