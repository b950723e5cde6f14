package v1

import (
	"bytes"
	"strconv"
)

// decimal is the value of a JSON number: ±digits × 10^exp, with neither leading nor
// trailing zeros in digits; zero has no digits. Equal values have equal decimals,
// however they were written, and no value is ever expanded.
type decimal struct {
	neg    bool
	digits string
	exp    int64
	// wild is the exponent as it was written when it is too large to be counted with.
	// Such numbers are equal if they are written alike, which errs on the side of
	// telling equal ones apart.
	wild string
}

// maxExponentDigits keeps sums of an exponent and a text's length inside int64.
const maxExponentDigits = 17

// parseDecimal reads a number that cursor.number has accepted.
func parseDecimal(text []byte) decimal {
	var d decimal
	text, d.neg = bytes.CutPrefix(text, []byte("-"))
	mantissa, exponent := text, []byte(nil)
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := make([]byte, 0, len(whole)+len(fraction))
	digits = append(append(digits, whole...), fraction...)
	digits = bytes.TrimLeft(digits, "0")
	significant := bytes.TrimRight(digits, "0")
	if len(significant) == 0 {
		return decimal{}
	}
	d.digits = string(significant)
	d.exp = int64(len(digits) - len(significant) - len(fraction))

	exponent, negExp := bytes.CutPrefix(bytes.TrimPrefix(exponent, []byte("+")), []byte("-"))
	exponent = bytes.TrimLeft(exponent, "0")
	switch {
	case len(exponent) == 0:
	case len(exponent) > maxExponentDigits:
		d.wild = string(exponent)
		if negExp {
			d.wild = "-" + d.wild
		}
	default:
		e, _ := strconv.ParseInt(string(exponent), 10, 64)
		if negExp {
			e = -e
		}
		d.exp += e
	}
	return d
}

// integer returns the value if it is a whole number; ok is false if it is not, and
// fits is false if it is one outside of int64.
func (d decimal) integer() (n int64, ok, fits bool) {
	switch {
	case d.digits == "":
		return 0, true, true
	case d.wild != "":
		return 0, d.wild[0] != '-', false
	case d.exp < 0:
		return 0, false, false
	case d.exp > 18:
		return 0, true, false
	}
	buf := make([]byte, 0, len(d.digits)+20)
	if d.neg {
		buf = append(buf, '-')
	}
	buf = append(buf, d.digits...)
	for range d.exp {
		buf = append(buf, '0')
	}
	n, err := strconv.ParseInt(string(buf), 10, 64)
	return n, true, err == nil
}

// append writes the value in the one way that all equal numbers share.
func (d decimal) append(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	if d.exp != 0 || d.wild != "" {
		dst = strconv.AppendInt(append(dst, 'e'), d.exp, 10)
	}
	if d.wild != "" {
		dst = append(append(dst, '+'), d.wild...)
	}
	return dst
}
